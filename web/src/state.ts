// Every state has a link: the view and its choices live in the fragment.
export const view = () => (location.hash.slice(2).split("?")[0] || "site");
export const hash = () => new URLSearchParams(location.hash.split("?")[1] ?? "");
export function setHash(change: Record<string, string>, to = view()) {
  const q = to === view() ? hash() : new URLSearchParams();
  for (const [k, v] of Object.entries(change)) v ? q.set(k, v) : q.delete(k);
  location.hash = "/" + to + (q.toString() ? "?" + q : "");
}
