// The page's only door to the server: documents by fetch, changes by server-sent events, and how old the picture is.
export interface Card { health: string; temp?: number; power?: number; load?: number }
export interface SiteDoc { site: string; nodes: { name: string; supernode: string; rack: string; cards: string[]; nics: string[] }[]; switches: { name: string; tier: number; plane: number; networks: string[] }[]; links: { id: number; name: string; a: string; b: string; gbps: number; medium: string; networks: number; spare: boolean }[] }
export interface StateDoc { site: string; now: number; start: number; speed: number; virtual: boolean; version: number; verdict: string; counts: { well: number; suspect: number; isolated: number; open_incidents: number }; cards: Record<string, Card>; links: { id: number; name: string; state: string; in_service: boolean; rate_factor: number }[]; facility: Record<string, Record<string, number>> }
export interface Job { name: string; model: string; kind: string; running: boolean; cards: string[]; groups: { name: string; ranks: number[] }[]; expected_step: number; split: Record<string, number>; step?: number; mfu?: number; step_number?: number; ttft?: number; tpot?: number }
export interface Cause { fault: string; title: string; entity: string; layer: string; confidence: number; explained: string[]; contradicted: string[]; impact: { job: string; groups: string[]; primitive: string; tail: string; slowdown: number }[]; settling_test: string }
export interface Finding { sign: string; entity: string; layer: string; since: number; strength: number; evidence: { metric: string; entity: string; value: number; baseline: number; text: string }[] }
export interface Incident { id: string; state: string; severity: string; unknown: number; undecided: boolean; first_sample: number | null; detected: number | null; located: number | null; isolated: number | null; recovered: number | null; released: number | null; closed: number | null; causes: Cause[]; findings: Finding[]; plans: { id: string; policy: string; owner: string; reason: string; report: string; actions: { id: string; kind: string; target: string; why: string; undo: string }[] }[]; lines: { at: number; phase: string; text: string }[] }
export interface Line { at: number; phase: string; incident: string; text: string; confidence: number }
export interface Cell { item: string; check: string; entity: string; verdict: string; value: string; threshold: string; source: string; remedy: string }
export interface Entry { sequence: number; at: number; kind: string; subject: string; entity: string; who: string; why: string; before: unknown; after: unknown }

export interface Store { site?: SiteDoc; state?: StateDoc; jobs: Job[]; incidents: Incident[]; cells: Cell[]; audit: Entry[]; lines: Line[]; heard: number; lost: boolean }
export const store: Store = { jobs: [], incidents: [], cells: [], audit: [], lines: [], heard: Date.now(), lost: false };
const listeners = new Set<() => void>();
export const subscribe = (f: () => void) => { listeners.add(f); return () => { listeners.delete(f); }; };
const changed = () => listeners.forEach((f) => f());

export async function get<T>(path: string): Promise<T> {
  const r = await fetch(path);
  const body = await r.json();
  if (!r.ok) throw new Error(body.message ?? r.statusText);
  return body as T;
}

let busy = false, again = false;
export async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const [state, jobs, incidents] = await Promise.all([get<StateDoc>("/api/state"), get<{ jobs: Job[] }>("/api/jobs"), get<{ incidents: Incident[] }>("/api/incidents")]);
    if (state.counts) store.state = state;
    store.jobs = jobs.jobs; store.incidents = incidents.incidents;
    store.heard = Date.now(); store.lost = false;
  } catch { store.lost = true; }
  busy = false;
  changed();
  if (again) { again = false; refresh(); }
}
export const loadInspect = async () => { try { store.cells = (await get<{ cells: Cell[] }>("/api/inspect")).cells; changed(); } catch { /* the banner tells */ } };
export const loadAudit = async () => { try { store.audit = (await get<{ entries: Entry[] }>("/api/audit")).entries; changed(); } catch { /* the banner tells */ } };

export async function start() {
  try { store.site = await get<SiteDoc>("/api/site"); } catch { store.lost = true; setTimeout(start, 1000); changed(); return; }
  await refresh();
  const events = new EventSource("/api/events");
  events.addEventListener("line", (e) => { store.lines.push(JSON.parse((e as MessageEvent).data)); if (store.lines.length > 500) store.lines.shift(); changed(); });
  events.addEventListener("tick", () => refresh());
  events.addEventListener("finished", () => refresh());
  events.onerror = () => { store.lost = true; changed(); };
  events.onopen = () => { store.lost = false; refresh(); };
  setInterval(() => { if (store.lost) changed(); }, 1000);
}
