// An incident's life, its causal graph in lanes, causes ranked with what supports and contradicts, and what was done.
import { useEffect, useState } from "preact/hooks";
import { Chart } from "./chart";
import { get, store, type Finding, type Incident } from "./data";
import { clock, percent } from "./format";
import { hash, setHash } from "./state";
import { t } from "./text";

const lanes = ["water", "power", "network", "card", "host", "software", "storage", "placement", "job"];

function Evidence({ finding, start }: { finding: Finding; start: number }) {
  const e = finding.evidence[0];
  const [points, setPoints] = useState<{ labels: string; points: [number, number][] }[]>([]);
  useEffect(() => { setPoints([]); if (e) get<{ series: { labels: string; points: [number, number][] }[] }>(`/api/series?metric=${encodeURIComponent(e.metric)}&entity=${encodeURIComponent(e.entity)}`).then((d) => setPoints(d.series)).catch(() => undefined); }, [finding.sign, finding.entity]);
  return <div><h3>{t("Evidence")}: {finding.sign} · {finding.entity}</h3>
    {finding.evidence.map((x) => <div class="mono">{x.text || `${x.metric} ${x.value} (${x.baseline})`}</div>)}
    {points.length > 0 && <Chart label={e.metric} height={180} option={{ grid: { left: 70, right: 15, top: 12, bottom: 26 }, tooltip: { trigger: "axis" }, xAxis: { type: "time", axisLabel: { formatter: (v: number) => clock(v - start) } }, yAxis: { type: "value", scale: true }, series: points.slice(0, 8).map((s) => ({ type: "line", symbol: "none", name: s.labels || e.metric, data: s.points, markLine: { symbol: "none", data: [{ xAxis: finding.since }], lineStyle: { color: "#b23c17" }, label: { show: false } } })) }} />}
  </div>;
}

function Life({ i, start }: { i: Incident; start: number }) {
  const zero = i.first_sample ?? i.detected ?? 0;
  const steps: [string, number | null][] = [["first sample", i.first_sample], ["detected", i.detected], ["located", i.located], ["isolated_", i.isolated], ["recovered", i.recovered], ["released", i.released], ["closed", i.closed]];
  return <div class="life">{steps.map(([n, at]) => <div class={at ? "done" : ""}>{t(n)}<br />{at ? clock(at - start) : "–"}{at && at !== zero ? <><br />+{((at - zero) / 1000).toFixed(0)} s</> : null}</div>)}</div>;
}

export function IncidentsView() {
  const start = store.state?.start ?? 0;
  const list = [...store.incidents].reverse();
  const id = hash().get("id") || list[0]?.id;
  const i = store.incidents.find((x) => x.id === id);
  const [open, setOpen] = useState("");
  if (list.length === 0) return <div class="empty">{t("No incident. When something is found, its life, causes and evidence appear here.")}</div>;
  const finding = i?.findings.find((f) => f.sign + "@" + f.entity === open) ?? i?.findings[0];
  return <div class="row">
    <div class="panel" style={{ width: 330 }}><table>{list.map((x) => <tr class="incident" aria-selected={x.id === id} onClick={() => { setHash({ id: x.id }); setOpen(""); }}><td class="mono">{x.id}</td><td>{x.causes[0]?.title ?? t("unknown")}<br /><span class="soft mono">{x.causes[0]?.entity ?? ""}</span></td><td>{t(x.state)}</td></tr>)}</table></div>
    {i && <div class="grow" style={{ flex: 3 }}>
      <div class="panel"><h2>{i.id} · {i.causes[0]?.title ?? t("unknown")} <span class="soft mono">{i.causes[0]?.entity}</span> {i.undecided && <span class="fail">{t("undecided")}</span>}</h2><Life i={i} start={start} />
        <div class="log mono" style={{ maxHeight: 170 }}>{i.lines.map((l) => <div>{clock(l.at - start)}  {l.phase.padEnd(9)} {l.text}</div>)}</div></div>
      <div class="panel"><h2>{t("Causal graph")} <span class="soft">{t("click a sign to see its evidence")}</span></h2>
        <div class="lanes">{lanes.flatMap((lane) => { const f = i.findings.filter((x) => x.layer === lane), c = i.causes[0]?.layer === lane; return f.length || c ? [<div class="lane">{t(lane)}</div>, <div class="cell">{c && <span class="chip cause">▶ {i.causes[0].title} · {i.causes[0].entity}</span>}{f.slice(0, 24).map((x) => <span class={"chip" + (x === finding ? " open" : "")} onClick={() => setOpen(x.sign + "@" + x.entity)}>{x.sign} · {x.entity}</span>)}{f.length > 24 && <span class="soft">+{f.length - 24}</span>}</div>] : []; })}</div>
        {finding && <Evidence finding={finding} start={start} />}</div>
      <div class="panel"><h2>{t("Causes")}</h2><table>{i.causes.map((c) => <tr><td style={{ width: 170 }}><span class="bar"><i style={{ width: percent(c.confidence).replace(" ", "") }} /></span> {c.confidence.toFixed(2)}</td><td><b>{c.title}</b> <span class="mono">{c.entity}</span>
        {c.impact.map((m) => <div>{t("Impact")}: {m.job} {m.groups.join(" ")} {m.primitive} {m.tail}{m.slowdown ? ` +${(m.slowdown * 100).toFixed(1)} %` : ""}</div>)}
        {c.explained.length > 0 && <div class="soft">{t("explains")}: <span class="mono">{c.explained.slice(0, 8).join(", ")}</span></div>}{c.contradicted.length > 0 && <div class="soft">{t("contradicted by")}: <span class="mono">{c.contradicted.join(", ")}</span></div>}{c.settling_test && <div>{t("settled by")}: {c.settling_test}</div>}</td></tr>)}
        <tr><td><span class="bar"><i style={{ width: percent(i.unknown).replace(" ", "") }} /></span> {i.unknown.toFixed(2)}</td><td class="soft">{t("unknown")}</td></tr></table></div>
      {i.plans.length > 0 && <div class="panel"><h2>{t("What was done")}</h2>{i.plans.map((p) => <div><h3>{p.id} · {p.policy} · {t("owner")} {p.owner}</h3><div>{p.reason}</div>{p.report && <div><b>{t("report")}:</b> {p.report}</div>}<table>{p.actions.map((a) => <tr><td class="mono">{a.id}</td><td>{a.kind}</td><td class="mono">{a.target}</td><td>{a.why}</td><td class="soft">{a.undo ? `${t("undo")}: ${a.undo}` : ""}</td></tr>)}</table></div>)}</div>}
    </div>}
  </div>;
}
