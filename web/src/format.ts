export const clock = (ms: number) => { const s = Math.max(0, Math.floor(ms / 1000)); const d = Math.floor(s / 86400); const two = (n: number) => String(n).padStart(2, "0"); return (d ? d + "d " : "") + `${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`; };
export const percent = (v?: number) => (v === undefined ? "–" : (v * 100).toFixed(1) + " %");
export const secs = (v?: number) => (v === undefined ? "–" : v < 1 ? (v * 1000).toFixed(0) + " ms" : v.toFixed(2) + " s");
export const age = (ms: number) => (ms < 90_000 ? Math.round(ms / 1000) + " s" : Math.round(ms / 60_000) + " min");
