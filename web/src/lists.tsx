// Inspection matrix and audit trail.
import { useEffect, useState } from "preact/hooks";
import { loadAudit, loadInspect, store } from "./data";
import { clock } from "./format";
import { hash, setHash } from "./state";
import { t } from "./text";

export function InspectView() {
  useEffect(() => { loadInspect(); }, []);
  const show = hash().get("show") || "fail";
  if (store.cells.length === 0) return <div class="empty">{t("No inspection yet. It runs before work starts.")}</div>;
  const checks = [...new Map(store.cells.map((c) => [c.check, c.item])).entries()];
  const cells = store.cells.filter((c) => show === "all" || c.verdict === show).slice(0, 400);
  return <>
    <div class="panel"><h2>{t("Inspect")}</h2><table><tr><th>{t("kind")}</th><th>{t("check")}</th><th class="num">{t("pass")}</th><th class="num">{t("fail")}</th><th class="num">{t("unknown")}</th></tr>
      {checks.map(([check, item]) => { const n = (v: string) => store.cells.filter((c) => c.check === check && c.verdict === v).length; return <tr><td>{item}</td><td>{check}</td><td class="num pass">{n("pass")}</td><td class="num fail">{n("fail") || ""}</td><td class="num unknown">{n("unknown") || ""}</td></tr>; })}</table>
      <div class="cmd">{t("same on the command line")}: <code>weft inspect {store.state?.site}</code></div></div>
    <div class="panel"><div>{t("show")} {["fail", "unknown", "pass", "all"].map((v) => <button aria-pressed={v === show} onClick={() => setHash({ show: v })}>{t(v)}</button>)}</div>
      <table><tr><th>{t("check")}</th><th>{t("entity")}</th><th></th><th>{t("value")}</th><th>{t("threshold")}</th><th>{t("source")}</th><th>{t("remedy")}</th></tr>
        {cells.map((c) => <tr><td>{c.check}</td><td class="mono">{c.entity}</td><td class={c.verdict}>{c.verdict === "pass" ? "✓" : c.verdict === "fail" ? "✗" : "?"} {t(c.verdict)}</td><td>{c.value}</td><td>{c.threshold}</td><td class="soft">{c.source}</td><td>{c.remedy}</td></tr>)}</table></div>
  </>;
}

export function AuditView() {
  useEffect(() => { loadAudit(); const timer = setInterval(loadAudit, 2000); return () => clearInterval(timer); }, []);
  const filter = hash().get("q") ?? "";
  const [open, setOpen] = useState(-1);
  const start = store.state?.start ?? 0;
  if (store.audit.length === 0) return <div class="empty">{t("The journal is empty. Every change and action is written here.")}</div>;
  const shown = store.audit.filter((e) => !filter || JSON.stringify([e.entity, e.who, e.kind, e.subject, e.why]).includes(filter));
  return <div class="panel"><h2>{t("Audit")}</h2><input placeholder={t("filter")} value={filter} onInput={(e) => setHash({ q: (e.target as HTMLInputElement).value })} />
    <table><tr><th class="num">#</th><th>{t("time")}</th><th>{t("kind")}</th><th>{t("subject")}</th><th>{t("entity")}</th><th>{t("who")}</th><th>{t("why")}</th></tr>
      {shown.map((e) => <><tr class="incident" onClick={() => setOpen(open === e.sequence ? -1 : e.sequence)}><td class="num">{e.sequence}</td><td>{e.at ? clock(e.at - start) : ""}</td><td>{e.kind}</td><td class="mono">{e.subject}</td><td class="mono">{e.entity}</td><td>{e.who}</td><td>{e.why}</td></tr>
        {open === e.sequence && <tr><td /><td colSpan={6}><div class="row"><pre class="grow mono">{t("before")}: {JSON.stringify(e.before, null, 1)}</pre><pre class="grow mono">{t("after")}: {JSON.stringify(e.after, null, 1)}</pre></div></td></tr>}</>)}</table>
    <div class="cmd">{t("same on the command line")}: <code>weft audit --store FILE</code></div></div>;
}
