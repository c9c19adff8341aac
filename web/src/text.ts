// Words of the frame in English and Chinese. Names, metrics and the loop's own lines come as they are.
export type Lang = "en" | "zh";
const zh: Record<string, string> = {
  "Site": "站点", "Jobs": "任务", "Incidents": "事件", "Inspect": "巡检", "Audit": "审计", "clock": "时钟", "virtual": "虚拟", "real": "实时", "speed": "速度", "max": "最快", "cards well": "卡正常", "suspect": "可疑", "isolated": "已隔离",
  "open incidents": "未结事件", "connection lost; the picture is": "连接中断；画面停留在", "old": "之前", "colour by": "着色", "health": "健康", "temperature": "温度", "load": "负载", "job": "任务", "well": "正常", "Machine": "机器",
  "Links by trouble": "问题链路", "No link is degraded or out of service.": "没有降级或停用的链路。", "link": "链路", "state": "状态", "rate": "速率", "Power and coolant": "供电与液冷", "No rack telemetry.": "没有机柜遥测。", "Selected": "选中",
  "Choose a card, or two to see the paths between them.": "点选一张卡；再选一张可看两者之间的路径。", "clear": "清除", "Paths": "路径", "links": "条链路", "not reachable": "不可达", "same on the command line": "命令行等价", "What happens": "正在发生", "Nothing yet.": "暂无。",
  "No job is running. A job placed by the loop appears here with its step time split.": "没有运行中的任务。闭环放置的任务会在这里显示步时分解。", "step time": "步时", "expected communication": "预期通信", "running": "运行中", "stopped": "已停", "Step time": "步时分解", "Lateness": "迟到图",
  "a slow card is a row, a slow network a block": "慢卡是一行，慢网是一块", "compute": "计算", "wait": "等待", "data": "数据", "checkpoint": "检查点", "No incident. When something is found, its life, causes and evidence appear here.": "没有事件。发现问题后，这里显示其过程、根因和证据。",
  "detected": "发现", "located": "定位", "isolated_": "隔离", "recovered": "恢复", "released": "放回", "closed": "关闭", "first sample": "首个异常采样", "Causes": "根因", "unknown": "未知", "undecided": "未决", "settled by": "判别测试", "Causal graph": "因果图",
  "water": "水", "power": "电", "network": "网络", "card": "卡", "host": "主机", "software": "软件", "storage": "存储", "placement": "放置", "Evidence": "证据", "click a sign to see its evidence": "点击征兆查看证据", "What was done": "处置", "undo": "撤销", "owner": "责任方", "report": "报告",
  "Impact": "影响", "explains": "解释", "contradicted by": "反证", "No inspection yet. It runs before work starts.": "尚无巡检结果。任务开始前会先巡检。", "check": "检查项", "entity": "对象", "value": "值", "threshold": "阈值", "source": "来源", "remedy": "处理", "pass": "通过", "fail": "失败", "show": "显示", "all": "全部",
  "The journal is empty. Every change and action is written here.": "日志为空。每次变更和动作都会记录在此。", "filter": "过滤", "time": "时间", "kind": "类别", "subject": "主体", "who": "谁", "why": "原因", "before": "之前", "after": "之后", "theme": "明暗", "keys": "按键 1-5 切换，t 明暗，l 语言", "finished": "已结束", "verdict": "结论",
  "loading": "载入中", "series": "曲线", "MFU": "MFU", "p95/p99 of groups": "组 p99", "groups": "通信组", "model": "模型", "cards": "卡", "ranked": "排序",
};
let lang: Lang = (localStorage.getItem("weft.lang") as Lang) || (navigator.language.startsWith("zh") ? "zh" : "en");
export const language = () => lang;
export function setLanguage(l: Lang) { lang = l; localStorage.setItem("weft.lang", l); document.documentElement.lang = l === "zh" ? "zh-CN" : "en"; }
export const t = (s: string) => (lang === "zh" ? zh[s] ?? s : s.replace(/_$/, ""));
