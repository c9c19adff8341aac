// One wrapper over ECharts, loaded on first use.
import { useEffect, useRef } from "preact/hooks";

let loading: Promise<typeof import("./echarts")> | undefined;
export function Chart({ option, height = 260, label }: { option: object; height?: number; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<{ setOption(o: object, s?: object): void; dispose(): void; resize(): void }>();
  const latest = useRef(option);
  latest.current = option;
  useEffect(() => {
    let gone = false;
    (loading ??= import("./echarts")).then(({ init }) => {
      if (gone || !box.current) return;
      chart.current = init(box.current, document.documentElement.dataset.theme === "dark" ? "dark" : undefined);
      chart.current.setOption({ backgroundColor: "transparent", animation: false, ...latest.current });
    });
    const resized = () => chart.current?.resize();
    addEventListener("resize", resized);
    return () => { gone = true; removeEventListener("resize", resized); chart.current?.dispose(); chart.current = undefined; };
  }, []);
  useEffect(() => { chart.current?.setOption({ backgroundColor: "transparent", animation: false, ...option }, { notMerge: true }); }, [option]);
  return <div ref={box} class="chart" style={{ height }} role="img" aria-label={label} />;
}
