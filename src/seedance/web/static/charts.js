// Draws the chart of a page with ECharts; values and library are loaded after the first paint. Colours are the page's own
// custom properties, read through a probe, so light and dark need nothing here. Idle is hatched,
// unattributed is outlined, and a step that was never settled is hatched from top to bottom.
"use strict";
(() => {
  const library = document.currentScript.dataset.library;
  const MINUS = "\u2212";
  let chart = null;
  let loading = null;

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = library;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  }

  function colour(name) {
    const probe = document.createElement("i");
    probe.hidden = true;
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  const COLOURS = { idle: "idle-fill", system: "idle-fill", unattributed: "bg", "s-rest": "rest" };

  function hatch(line) {
    return {
      symbol: "rect", symbolSize: 1, rotation: -Math.PI / 4, color: line,
      dashArrayX: [1, 0], dashArrayY: [1.5, 3.5],
    };
  }

  // The last step is still being settled: its bar is paler until it is final.
  function faded(data, values) {
    const last = values.length - 1;
    return values.map((value, n) =>
      data.provisional && n === last ? { value, itemStyle: { opacity: 0.55 } } : value);
  }

  function bars(data, item, line) {
    const style = { color: colour(COLOURS[item.look] ?? item.look) };
    if (item.look === "idle") style.decal = hatch(line);
    if (item.look === "unattributed") {
      Object.assign(style, { borderColor: line, borderWidth: 1, borderType: "dashed" });
    }
    return {
      name: item.name, type: "bar", stack: "cost", data: faded(data, item.values), itemStyle: style,
      barMaxWidth: 44, barCategoryGap: "26%", emphasis: { disabled: true }, animation: false,
    };
  }

  // Neighbouring steps that nothing was settled for, as [first, count].
  function runs(data) {
    const found = [];
    data.labels.forEach((_, n) => {
      if (!data.series.every((item) => item.values[n] === null)) return;
      const last = found.at(-1);
      if (last && last[0] + last[1] === n) last[1] += 1;
      else found.push([n, 1]);
    });
    return found;
  }

  // They are hatched from top to bottom and said to be unsettled: not bars of height 0.
  function gaps(data, line, text) {
    const draw = (params, api) => {
      const { x, y, width, height } = params.coordSys;
      const step = width / data.labels.length;
      const [left, wide] = [x + step * api.value(0), step * api.value(1)];
      const parts = [];
      for (let at = -height; at < wide; at += 7) {
        parts.push({
          type: "line", shape: { x1: left + at, y1: y + height, x2: left + at + height, y2: y },
          style: { stroke: line, lineWidth: 1, opacity: 0.3 },
        });
      }
      if (wide > 90) {
        parts.push({
          type: "text", x: left + wide / 2, y: y + height / 2, z2: 9,
          style: {
            text: "not settled", fill: text.color, font: `12px ${text.fontFamily}`, align: "center",
            verticalAlign: "middle", backgroundColor: colour("bg"), padding: [4, 8], borderRadius: 4,
          },
        });
      }
      const clipPath = { type: "rect", shape: { x: left, y, width: wide, height } };
      return { type: "group", silent: true, children: parts, clipPath };
    };
    const found = runs(data);
    if (!found.length) return [];
    return [{
      type: "custom", renderItem: draw, data: found, encode: { x: 0, y: -1 }, silent: true,
      animation: false, z: 0,
    }];
  }

  function number(value, places) {
    return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })
      .replace("-", MINUS);
  }

  function line(row, swatch, name, text) {
    const mark = document.createElement("i");
    mark.className = `swatch ${swatch}`;
    const label = row.insertCell();
    label.append(mark, ` ${name}`);
    const cell = row.insertCell();
    cell.className = "n";
    cell.textContent = text;
  }

  function tip(data, at, places) {
    const box = document.createElement("div");
    const head = document.createElement("b");
    const open = data.provisional && at === data.labels.length - 1;
    head.textContent = data.labels[at] + (open ? ", provisional" : "");
    const table = document.createElement("table");
    let sum = null;
    for (const item of [...data.series].reverse()) {
      const value = item.values[at];
      if (value === null) continue;
      sum = (sum ?? 0) + value;
      line(table.insertRow(), item.look, item.name, number(value, places));
    }
    line(table.insertRow(), "none", sum === null ? "Not settled" : `Sum, ${data.unit}`,
      sum === null ? "\u2013" : number(sum, places));
    box.append(head, table);
    return box;
  }

  function option(data) {
    const muted = colour("muted");
    const grid = colour("line");
    const idle = colour("idle-line");
    const most = Math.max(...data.labels.map((_, n) =>
      data.series.reduce((sum, item) => sum + (item.values[n] ?? 0), 0)));
    const places = most >= 100 ? 0 : most >= 1 ? 2 : 4;
    const text = { color: muted, fontSize: 12, fontFamily: getComputedStyle(document.body).fontFamily };
    return {
      animation: false, textStyle: text,
      aria: { enabled: true },
      grid: { left: 8, right: 8, top: 56, bottom: 4, containLabel: true },
      legend: {
        type: "scroll", top: 0, left: 0, itemWidth: 10, itemHeight: 10, itemGap: 16, icon: "rect",
        textStyle: text, pageTextStyle: text, pageIconColor: muted,
        data: data.series.map((item) => item.name),
      },
      tooltip: {
        trigger: "axis", axisPointer: { type: "shadow", shadowStyle: { color: grid, opacity: 0.5 } },
        className: "charttip", backgroundColor: colour("raised"), borderColor: colour("line-strong"),
        padding: [8, 12], confine: true, transitionDuration: 0,
        formatter: (items) => tip(data, items[0].dataIndex, most >= 100 ? 2 : places),
      },
      xAxis: {
        type: "category", data: data.labels, axisTick: { show: false },
        axisLine: { lineStyle: { color: grid } }, axisLabel: { ...text, hideOverlap: true },
      },
      yAxis: {
          type: "value", name: data.title, nameTextStyle: { ...text, align: "left" }, nameGap: 12,
          splitNumber: 4, axisLabel: { ...text, formatter: (v) => number(v, v && most < 8 ? places : 0) },
          splitLine: { lineStyle: { color: grid } },
      },
      series: [...data.series.map((item) => bars(data, item, idle)), ...gaps(data, idle, text)],
    };
  }

  // A click on a step leads to its rows.
  function follow(event) {
    const place = [event.offsetX, event.offsetY];
    if (!chart.containPixel("grid", place)) return;
    const at = chart.convertFromPixel({ gridIndex: 0 }, place)[0];
    const href = shown?.data?.links[at];
    if (href) location.assign(href);
  }

  // The values come after the first paint; until new ones are here the old bars stay.
  let shown = null;
  async function values(source) {
    if (shown?.source !== source) {
      const response = await fetch(source, { headers: { accept: "application/json" } });
      shown = { source, data: response.ok ? await response.json() : null };
    }
    return shown.data;
  }

  async function draw() {
    const place = document.getElementById("chart");
    if (!place) {
      chart?.dispose();
      chart = null;
      return;
    }
    const source = place.dataset.bars;
    const [data] = await Promise.all([values(source).catch(() => null), load()]);
    if (place !== document.getElementById("chart") || source !== place.dataset.bars) return;
    place.closest("figure").hidden = !data?.labels.length;
    if (!data?.labels.length) return;
    if (chart && chart.getDom() !== place) {
      chart.dispose();
      chart = null;
    }
    if (!chart) {
      chart = window.echarts.init(place, null, { renderer: "canvas" });
      chart.getZr().on("click", follow);
    }
    chart.setOption(option(data), { notMerge: true });
    place.dataset.drawn = source;
  }

  addEventListener("resize", () => chart?.resize());
  document.addEventListener("seedance:look", draw);
  document.addEventListener("htmx:after:swap", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", () => chart?.resize());
  draw();
})();
