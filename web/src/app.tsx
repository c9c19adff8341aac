import { render } from "preact";
import { useEffect, useReducer } from "preact/hooks";
import { start, store, subscribe } from "./data";
import { age, clock, percent, secs } from "./format";
import { IncidentsView } from "./incidents";
import { JobsView } from "./jobs";
import { AuditView, InspectView } from "./lists";
import { SiteView } from "./site";
import { setHash, view } from "./state";
import { language, setLanguage, t } from "./text";

const views = [["site", "Site", SiteView], ["jobs", "Jobs", JobsView], ["incidents", "Incidents", IncidentsView], ["inspect", "Inspect", InspectView], ["audit", "Audit", AuditView]] as const;
const theme = () => document.documentElement.dataset.theme;
function setTheme(x: string) { document.documentElement.dataset.theme = x; localStorage.setItem("weft.theme", x); }
setTheme(localStorage.getItem("weft.theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
setLanguage(language());

function App() {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const stop = subscribe(() => redraw(0));
    const moved = () => redraw(0);
    addEventListener("hashchange", moved);
    const key = (e: KeyboardEvent) => {
      if ((e.target as HTMLElement).tagName === "INPUT" || e.ctrlKey || e.metaKey || e.altKey) return;
      const n = +e.key;
      if (n >= 1 && n <= views.length) setHash({}, views[n - 1][0]);
      else if (e.key === "t") { setTheme(theme() === "dark" ? "light" : "dark"); redraw(0); }
      else if (e.key === "l") { setLanguage(language() === "en" ? "zh" : "en"); redraw(0); }
    };
    addEventListener("keydown", key);
    start();
    return () => { stop(); removeEventListener("hashchange", moved); removeEventListener("keydown", key); };
  }, []);
  const s = store.state, here = view();
  const Current = (views.find((v) => v[0] === here) ?? views[0])[2];
  return <>
    <header>
      <b class="brand">weft</b>
      <span class="stat">{s?.site ?? store.site?.site ?? "…"}</span>
      {s && <><span class="stat"><span>{t("clock")}</span> {clock(s.now - s.start)} <span>{t(s.virtual ? "virtual" : "real")} {s.speed > 0 ? `×${s.speed}` : t("max")}</span></span>
        <span class="stat">{s.counts.well} <span>{t("cards well")}</span> · {s.counts.suspect} <span>{t("suspect")}</span> · {s.counts.isolated} <span>{t("isolated")}</span></span>
        <span class="stat">{s.counts.open_incidents} <span>{t("open incidents")}</span></span>
        {store.jobs.map((j) => <span class="stat"><span>{j.name}</span> {secs(j.step)} <span>MFU</span> {percent(j.mfu)}</span>)}
        {s.verdict && <span class="stat"><b>{t("finished")}: {s.verdict}</b></span>}</>}
      <span class="right"><button title={t("keys")} onClick={() => { setLanguage(language() === "en" ? "zh" : "en"); redraw(0); }}>{language() === "en" ? "中文" : "English"}</button><button title={t("theme")} onClick={() => { setTheme(theme() === "dark" ? "light" : "dark"); redraw(0); }}>{theme() === "dark" ? "☀" : "☾"}</button></span>
    </header>
    {store.lost && <div class="lost" role="alert">{t("connection lost; the picture is")} {age(Date.now() - store.heard)} {t("old")}</div>}
    <div class="frame">
      <nav>{views.map(([id, title], i) => <a href={"#/" + id} aria-current={id === here ? "page" : undefined}>{t(title)} <small>{i + 1}</small></a>)}</nav>
      <main key={here + language() + theme()}><Current /></main>
    </div>
  </>;
}
render(<App />, document.getElementById("app")!);
