// The page of `nmt explain --html`: its data and options are part of it.
{
  const { explanations, open } = JSON.parse(document.getElementById("data").textContent);
  for (const data of explanations) {
    const section = document.createElement("section");
    document.getElementById("explanations").append(section);
    const body = document.createElement("div");
    if (data.run) section.append(nmtViews.make("p", { class: "facts" }, data.run));
    section.append(body);
    nmtViews.showExplanation(body, data, { open: data.forced ? [...open, "n-best"] : open });
  }
}
