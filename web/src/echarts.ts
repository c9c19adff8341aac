import { use, init } from "echarts/core";
import { LineChart, HeatmapChart } from "echarts/charts";
import { GridComponent, TooltipComponent, LegendComponent, MarkLineComponent, VisualMapComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";
use([LineChart, HeatmapChart, GridComponent, TooltipComponent, LegendComponent, MarkLineComponent, VisualMapComponent, CanvasRenderer]);
export { init };
