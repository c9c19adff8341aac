// The machine: racks as columns, nodes as rows, cards as cells, drawn on a canvas so that thousands stay smooth.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, store, type SiteDoc, type StateDoc } from "./data";
import { clock } from "./format";
import { hash, setHash } from "./state";
import { t } from "./text";

type Colour = "health" | "temperature" | "load" | "job";
const jobColours = ["#0072b2", "#cc79a7", "#009e73", "#56b4e9", "#f0e442", "#d55e00"];
interface Spot { name: string; x: number; y: number; s: number; label?: string }

function layout(site: SiteDoc, width: number): { spots: Spot[]; labels: { text: string; x: number; y: number; big?: boolean }[]; height: number } {
  const racks = new Map<string, SiteDoc["nodes"]>();
  for (const n of site.nodes) { const k = n.rack || n.supernode || "–"; racks.set(k, [...(racks.get(k) ?? []), n]); }
  const most = Math.max(1, ...site.nodes.map((n) => n.cards.length));
  const total = site.nodes.reduce((a, n) => a + n.cards.length, 0);
  const s = total > 4000 ? 5 : total > 600 ? 9 : 20, gap = s > 9 ? 3 : 1;
  const column = Math.max(most * (s + gap) + 70, 120);
  const perLine = Math.max(1, Math.floor(width / column));
  const spots: Spot[] = [], labels: { text: string; x: number; y: number; big?: boolean }[] = [];
  let line = 0, y0 = 0, tallest = 0, i = 0;
  for (const [rack, nodes] of racks) {
    const c = i++ % perLine;
    if (c === 0 && i > 1) { y0 += tallest + 14; tallest = 0; line++; }
    const x0 = c * column;
    labels.push({ text: rack, x: x0, y: y0 + 13, big: true });
    nodes.forEach((n, r) => {
      const y = y0 + 22 + r * (s + gap + (s > 9 ? 4 : 1));
      if (s > 9) labels.push({ text: n.name.split("/").pop()!, x: x0, y: y + s - 5 });
      n.cards.forEach((card, k) => spots.push({ name: card, x: x0 + (s > 9 ? 56 : 0) + k * (s + gap), y, s }));
      tallest = Math.max(tallest, y - y0 + s + 8);
    });
  }
  return { spots, labels, height: y0 + tallest + 6 };
}

function ramp(v: number): string {
  // Cividis-like, from dark blue to yellow.
  const stops = [[0, 34, 78], [87, 92, 109], [165, 154, 111], [254, 232, 56]];
  const x = Math.min(0.999, Math.max(0, v)) * 3, i = Math.floor(x), f = x - i;
  const c = stops[i].map((a, k) => Math.round(a + (stops[i + 1][k] - a) * f));
  return `rgb(${c.join(",")})`;
}

function Machine({ site, state, colour, picked, pick }: { site: SiteDoc; state: StateDoc; colour: Colour; picked: string[]; pick: (n: string) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null), box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(900);
  useEffect(() => { const fit = () => box.current && setWidth(box.current.clientWidth); fit(); addEventListener("resize", fit); return () => removeEventListener("resize", fit); }, []);
  const plan = useMemo(() => layout(site, width), [site, width]);
  const jobOf = new Map<string, number>();
  store.jobs.forEach((j, i) => j.running && j.cards.forEach((c) => jobOf.set(c, i)));
  useEffect(() => {
    const el = canvas.current!, ratio = devicePixelRatio || 1, css = getComputedStyle(document.documentElement);
    el.width = width * ratio; el.height = plan.height * ratio; el.style.width = width + "px"; el.style.height = plan.height + "px";
    const g = el.getContext("2d")!; g.scale(ratio, ratio); g.clearRect(0, 0, width, plan.height);
    const v = (n: string) => css.getPropertyValue(n).trim();
    for (const l of plan.labels) { g.font = l.big ? "600 13px system-ui" : "11px system-ui"; g.fillStyle = l.big ? v("--ink") : v("--soft"); g.fillText(l.text, l.x, l.y); }
    for (const p of plan.spots) {
      const c = state.cards[p.name];
      const health = c?.health ?? "unknown";
      let fill = v("--quiet");
      if (colour === "health") fill = c ? v("--" + health) : fill;
      else if (colour === "temperature") fill = c?.temp === undefined ? fill : ramp((c.temp - 25) / 65);
      else if (colour === "load") fill = c?.load === undefined ? fill : ramp(c.load);
      else fill = jobOf.has(p.name) ? jobColours[jobOf.get(p.name)! % jobColours.length] : fill;
      g.fillStyle = fill; g.fillRect(p.x, p.y, p.s, p.s);
      // A mark besides the colour: ! suspect, × isolated.
      if (p.s > 9 && (health === "suspect" || health === "isolated")) { g.fillStyle = "#000"; g.font = "bold 14px system-ui"; g.fillText(health === "suspect" ? "!" : "×", p.x + 6, p.y + 15); }
      if (picked.includes(p.name)) { g.strokeStyle = v("--accent"); g.lineWidth = 3; g.strokeRect(p.x - 1.5, p.y - 1.5, p.s + 3, p.s + 3); }
    }
  });
  const at = (e: MouseEvent) => { const r = canvas.current!.getBoundingClientRect(); const x = e.clientX - r.left, y = e.clientY - r.top; return plan.spots.find((p) => x >= p.x && x <= p.x + p.s && y >= p.y && y <= p.y + p.s); };
  return <div ref={box}><canvas class="site" ref={canvas} tabIndex={0} aria-label={t("Machine")} onClick={(e) => { const p = at(e); if (p) pick(p.name); }} onMouseMove={(e) => { const p = at(e); canvas.current!.title = p ? p.name : ""; }} /></div>;
}

export function SiteView() {
  const { site, state } = store;
  const colour = (hash().get("colour") as Colour) || "health";
  const picked = (hash().get("sel") ?? "").split(",").filter(Boolean);
  const [values, setValues] = useState<{ metric: string; value: number; labels: string }[]>([]);
  const [path, setPath] = useState<{ reachable: boolean; length: number; latency_ns: number; gBps: number; hops: { name: string; share: number }[] }>();
  useEffect(() => { if (picked[0]) get<{ values: { metric: string; value: number; labels: string }[] }>("/api/entity?name=" + encodeURIComponent(picked[picked.length - 1])).then((d) => setValues(d.values)).catch(() => setValues([])); }, [picked.join(), state?.now]);
  useEffect(() => { setPath(undefined); if (picked.length === 2) get<typeof path>(`/api/paths?from=${encodeURIComponent(picked[0])}&to=${encodeURIComponent(picked[1])}`).then(setPath).catch(() => undefined); }, [picked.join(), state?.version]);
  if (!site || !state) return <div class="empty">{t("loading")} …</div>;
  const pick = (n: string) => setHash({ sel: picked.includes(n) ? picked.filter((p) => p !== n).join() : [...picked.slice(-1), n].join() });
  return <div class="row">
    <div class="grow" style={{ flex: 2 }}>
      <div class="panel">
        <h2>{t("Machine")} <span class="soft">{site.site}</span></h2>
        <div>{t("colour by")} {(["health", "job", "temperature", "load"] as Colour[]).map((c) => <button aria-pressed={c === colour} onClick={() => setHash({ colour: c })}>{t(c)}</button>)}</div>
        <div style={{ marginTop: 10 }}><Machine site={site} state={state} colour={colour} picked={picked} pick={pick} /></div>
        {colour === "health" && <div class="legend">{["well", "suspect", "isolated"].map((h) => <span><i style={{ background: `var(--${h})` }} />{h === "suspect" ? "! " : h === "isolated" ? "× " : ""}{t(h)}</span>)}</div>}
        {colour === "job" && <div class="legend">{store.jobs.map((j, i) => <span><i style={{ background: jobColours[i % jobColours.length] }} />{j.name}</span>)}</div>}
        {colour === "temperature" && <div class="legend"><span><i style={{ background: ramp(0) }} />25 °C</span><span><i style={{ background: ramp(1) }} />90 °C</span></div>}
        <div class="cmd">{t("same on the command line")}: <code>weft fabric show {site.site}</code></div>
      </div>
      <div class="panel"><h2>{t("What happens")}</h2>
        <div class="log mono">{store.lines.length === 0 ? t("Nothing yet.") : store.lines.slice(-60).reverse().map((l) => <div>{clock(l.at - state.start)}  {l.phase.padEnd(9)} {l.text}{l.confidence >= 0 ? `   ${l.confidence.toFixed(2)}` : ""}</div>)}</div>
      </div>
    </div>
    <div class="grow">
      <div class="panel"><h2>{t("Selected")} {picked.length > 0 && <button onClick={() => setHash({ sel: "" })}>{t("clear")}</button>}</h2>
        {picked.length === 0 ? <div class="soft">{t("Choose a card, or two to see the paths between them.")}</div> : <div class="mono">{picked.join("  →  ")}</div>}
        {path && (path.reachable ? <><h3>{t("Paths")}: {path.length} {t("links")}, {path.gBps.toFixed(1)} GB/s, {path.latency_ns.toFixed(0)} ns</h3><table>{path.hops.slice(0, 24).map((h) => <tr><td class="mono">{h.name}</td><td class="num">{(h.share * 100).toFixed(1)} %</td></tr>)}</table>
          <div class="cmd"><code>weft fabric paths {site.site} --from {picked[0]} --to {picked[1]}</code></div></> : <h3>{t("not reachable")}</h3>)}
        {picked.length > 0 && <table>{values.filter((v) => !/_PROF_|row/i.test(v.metric)).slice(0, 26).map((v) => <tr><td class="mono">{v.metric}{v.labels ? `{${v.labels}}` : ""}</td><td class="num mono">{Number(v.value.toPrecision(5))}</td></tr>)}</table>}
      </div>
      <div class="panel"><h2>{t("Links by trouble")}</h2>
        {state.links.length === 0 ? <div class="soft">{t("No link is degraded or out of service.")}</div> : <table><tr><th>{t("link")}</th><th>{t("state")}</th><th class="num">{t("rate")}</th></tr>
          {[...state.links].sort((a, b) => Number(a.in_service) - Number(b.in_service) || a.rate_factor - b.rate_factor).slice(0, 40).map((l) => <tr><td class="mono">{l.name}</td><td>{l.in_service ? l.state : t("isolated")}</td><td class="num">{(l.rate_factor * 100).toFixed(0)} %</td></tr>)}</table>}
      </div>
      <div class="panel"><h2>{t("Power and coolant")}</h2>
        {Object.values(state.facility).every((f) => Object.keys(f).length === 0) ? <div class="soft">{t("No rack telemetry.")}</div> : <table>{Object.entries(state.facility).map(([n, f]) => <tr><td>{n}</td>
          <td class="num">{f.power !== undefined ? (f.power / 1000).toFixed(1) + " kW" : ""}</td><td class="num">{f.flow !== undefined ? f.flow.toFixed(0) + " L/min" : ""}</td><td class="num">{f.supply !== undefined && f.return !== undefined ? `${f.supply.toFixed(1)} → ${f.return.toFixed(1)} °C` : ""}</td></tr>)}</table>}
      </div>
    </div>
  </div>;
}
