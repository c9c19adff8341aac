// Step time as stacked areas against the expected line; a rank × time map of lateness, in which a slow card is a row and a slow network a block.
import { useEffect, useState } from "preact/hooks";
import { Chart } from "./chart";
import { get, store } from "./data";
import { clock, percent, secs } from "./format";
import { hash, setHash } from "./state";
import { t } from "./text";

interface SeriesDoc { series: { labels: string; points: [number, number][] }[] }
const parts: [string, string, string][] = [["compute", "weft_job_compute_seconds", "#0072b2"], ["tp", "dim=tp", "#56b4e9"], ["pp", "dim=pp", "#009e73"], ["dp", "dim=dp", "#cc79a7"], ["ep", "dim=ep", "#d55e00"], ["cp", "dim=cp", "#f0e442"], ["wait", "weft_job_wait_seconds", "#999999"], ["data", "weft_job_data_seconds", "#e69f00"]];

export function JobsView() {
  const name = hash().get("job") || store.jobs[0]?.name;
  const job = store.jobs.find((j) => j.name === name);
  const [lines, setLines] = useState<object[]>([]);
  const [late, setLate] = useState<{ times: number[]; rows: string[]; cells: [number, number, number][]; top: number }>();
  const now = store.state?.now, start = store.state?.start ?? 0;
  useEffect(() => {
    if (!name) return;
    const entity = encodeURIComponent("job/" + name);
    const ask = (m: string) => get<SiteSeries>(`/api/series?metric=${m}&entity=${entity}`).catch(() => ({ series: [] }));
    type SiteSeries = SeriesDoc;
    (async () => {
      const [step, comm, waits, ...rest] = await Promise.all([ask("weft_job_step_seconds"), ask("weft_job_comm_seconds"), ask("weft_job_rank_wait_seconds"), ...parts.filter((p) => p[1].startsWith("weft")).map((p) => ask(p[1]))]);
      const direct = new Map(parts.filter((p) => p[1].startsWith("weft")).map((p, i) => [p[0], rest[i].series[0]?.points ?? []]));
      const stack = parts.map(([key, source, colour]) => ({
        name: t(key), type: "line", stack: "step", symbol: "none", lineStyle: { width: 0 }, areaStyle: { opacity: 0.85 }, color: colour,
        data: source.startsWith("weft") ? direct.get(key) : comm.series.find((s) => s.labels === source)?.points ?? [],
      })).filter((s) => (s.data?.length ?? 0) > 0);
      setLines([...stack, { name: t("step time"), type: "line", symbol: "none", color: "#888", lineStyle: { width: 1.5 }, data: step.series[0]?.points ?? [] }]);
      const rows = waits.series.map((s) => s.labels.replace("rank=", "")).sort((a, b) => +a - +b);
      const times = [...new Set(waits.series.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b).slice(-150);
      const index = new Map(times.map((x, i) => [x, i]));
      // Late = waits less than its peers at that moment: the others wait for it.
      const most = times.map(() => 0);
      for (const s of waits.series) for (const [x, v] of s.points) if (index.has(x)) most[index.get(x)!] = Math.max(most[index.get(x)!], v);
      const cells: [number, number, number][] = [];
      let top = 1e-3;
      for (const s of waits.series) { const r = rows.indexOf(s.labels.replace("rank=", "")); for (const [x, v] of s.points) if (index.has(x)) { const l = most[index.get(x)!] - v; top = Math.max(top, l); cells.push([index.get(x)!, r, +l.toFixed(4)]); } }
      setLate({ times, rows, cells, top });
    })();
  }, [name, now]);
  if (!job) return <div class="empty">{t("No job is running. A job placed by the loop appears here with its step time split.")}</div>;
  const axis = { type: "time", axisLabel: { formatter: (v: number) => clock(v - start) } };
  const marks = store.incidents.filter((i) => i.detected).map((i) => ({ xAxis: i.detected, label: { formatter: i.id } }));
  const series = lines.map((l, i) => (i === lines.length - 1 ? { ...l, markLine: { symbol: "none", data: marks, lineStyle: { color: "#b23c17", type: "dashed" } } } : l));
  return <>
    <div class="panel"><table><tr><th>{t("job")}</th><th>{t("model")}</th><th>{t("cards")}</th><th>{t("state")}</th><th class="num">{t("step time")}</th><th class="num">MFU</th><th class="num">TTFT</th><th class="num">TPOT</th><th>{t("groups")}</th></tr>
      {store.jobs.map((j) => <tr class="incident" aria-selected={j.name === name} onClick={() => setHash({ job: j.name })}><td>{j.name}</td><td>{j.model}</td><td>{j.cards.length}</td><td>{j.running ? t("running") : t("stopped")}</td><td class="num">{secs(j.step)}</td><td class="num">{percent(j.mfu)}</td><td class="num">{secs(j.ttft)}</td><td class="num">{secs(j.tpot)}</td><td class="mono">{j.groups.slice(0, 10).map((g) => g.name).join(" ")}{j.groups.length > 10 ? " …" : ""}</td></tr>)}</table></div>
    <div class="panel"><h2>{t("Step time")} · {job.name}</h2>
      <Chart label="step time" height={300} option={{ grid: { left: 55, right: 15, top: 34, bottom: 28 }, legend: { top: 0 }, tooltip: { trigger: "axis", valueFormatter: (v: number) => secs(v) }, xAxis: axis, yAxis: { type: "value", name: "s" }, series }} />
      <div class="cmd">{t("same on the command line")}: <code>weft sim step {store.state?.site} --model {job.model}</code></div></div>
    {late && late.cells.length > 0 && <div class="panel"><h2>{t("Lateness")} <span class="soft">{t("a slow card is a row, a slow network a block")}</span></h2>
      <Chart label="lateness of ranks" height={Math.min(460, 80 + late.rows.length * 14)} option={{ grid: { left: 45, right: 15, top: 10, bottom: 58 }, tooltip: {}, xAxis: { type: "category", data: late.times.map((x) => clock(x - start)) }, yAxis: { type: "category", data: late.rows, name: "rank" }, visualMap: { min: 0, max: late.top, orient: "horizontal", left: "center", bottom: 0, itemHeight: 90, text: [secs(late.top), "0"], inRange: { color: ["#f3f3ee", "#a59a6f", "#00224e"] } }, series: [{ type: "heatmap", data: late.cells }] }} /></div>}
  </>;
}
