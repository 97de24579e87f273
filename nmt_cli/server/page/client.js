// Requests to the server, and what can go wrong with them.

const KEY = "nmt-api-key";

// kind: "offline", "gone", "busy", "slow", "long", "key", "refused". `seconds` is when to try again, if it is known.
export class Problem extends Error {
  constructor(kind, message = "", seconds = null) {
    super(message);
    this.kind = kind;
    this.seconds = seconds;
  }
}

export class Client {
  settings = null; // of GET /frontend/settings
  languages = []; // of GET /languages

  get key() {
    return sessionStorage.getItem(KEY) ?? "";
  }

  set key(value) {
    sessionStorage.setItem(KEY, value.trim());
  }

  async connect() {
    [this.settings, this.languages] = await Promise.all(["/frontend/settings", "/languages"].map((path) => request(path)));
  }

  async isWell() {
    try {
      return (await request("/health")).status === "ok";
    } catch {
      return false;
    }
  }

  // The translations of lines, each beginning with its prefix.
  async translate(lines, prefixes, pair, signal) {
    const prefix = prefixes.some(Boolean) ? { prefix: prefixes } : {};
    return (await this.post("/translate", { q: lines, ...pair, ...prefix }, signal)).translatedText;
  }

  async explain(line, prefix, pair, signal) {
    return this.post("/explain", { q: line, prefix, ...pair }, signal);
  }

  async detect(text, signal) {
    return (await this.post("/detect", { q: text }, signal))[0];
  }

  // The address of the translated file, on this server, and the number of entries that were left as they are.
  async translateFile(file, pair) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...pair, ...this.credentials() })) form.set(name, value);
    form.set("file", file);
    const answer = await request("/translate_file", { method: "POST", body: form });
    return { address: new URL(answer.translatedFileUrl, location.href).pathname, left: answer.untranslated.length };
  }

  credentials() {
    if (!this.settings?.keyRequired) return {};
    if (!this.key) throw new Problem("key", "This server translates for those who have an API key.");
    return { api_key: this.key };
  }

  async post(path, fields, signal) {
    return request(path, {
      method: "POST", signal, headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...fields, ...this.credentials() }),
    });
  }
}

async function request(path, options = {}) {
  let response, answer;
  try {
    response = await fetch(path, options);
    answer = await response.json();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    if (response && error instanceof SyntaxError) throw new Problem("refused", `The server answered ${response.status}, but not with JSON.`);
    throw new Problem(navigator.onLine ? "gone" : "offline");
  }
  if (response.ok) return answer;
  const message = answer.error ?? `The server answered ${response.status}.`;
  const seconds = Number(response.headers.get("Retry-After")) || null;
  const kinds = { 403: "key", 408: "slow", 413: "long", 429: "busy", 503: "slow" };
  throw new Problem(kinds[response.status] ?? "refused", message, seconds);
}
