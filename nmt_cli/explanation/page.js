// The page of `nmt explain --html`: its data and options are part of it.
{
  const { explanations, open } = JSON.parse(document.getElementById("data").textContent);
  for (const data of explanations) {
    const section = document.createElement("section");
    document.getElementById("explanations").append(section);
    nmtViews.showExplanation(section, data, { open: data.forced ? [...open, "n-best"] : open });
  }
}
