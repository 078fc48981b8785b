// What must hold of everything on a page; each check lists its faults.

function visible(element) {
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && element.checkVisibility({ visibilityProperty: true }) && !element.closest(".skip");
}

function rgba(text) {
  const numbers = text.match(/[\d.]+/g);
  if (text.startsWith("rgb")) return [Number(numbers[0]), Number(numbers[1]), Number(numbers[2]), numbers[3] === undefined ? 1 : Number(numbers[3])];
  throw new Error(`no colour: ${text}`);
}

const over = (top, under, alpha = top[3]) => [0, 1, 2].map((at) => top[at] * alpha + under[at] * (1 - alpha)).concat(1);

function backgroundOf(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    const colour = at instanceof SVGElement ? [0, 0, 0, 0] : rgba(style.backgroundColor);
    if (colour[3] > 0) layers.push(colour);
    if (colour[3] === 1) break;
  }
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
}

// What is drawn under a text of a drawing: shapes before it that hold its middle.
function groundsOf(text) {
  const box = text.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  let grounds = [backgroundOf(text.ownerSVGElement)];
  for (const shape of text.ownerSVGElement.querySelectorAll("rect, path")) {
    if (shape.compareDocumentPosition(text) !== Node.DOCUMENT_POSITION_FOLLOWING) continue;
    const area = shape.getBoundingClientRect();
    if (x < area.left || x > area.right || y < area.top || y > area.bottom) continue;
    const style = getComputedStyle(shape);
    if (style.fill.startsWith("url")) {
      const line = getComputedStyle(text.ownerSVGElement.querySelector(".gx-line"));
      grounds = grounds.concat(grounds.map((under) => over(rgba(line.stroke), under, Number(line.opacity))));
    } else if (style.fill !== "none") grounds = grounds.map((under) => over(rgba(style.fill), under, Number(style.fillOpacity)));
  }
  return grounds;
}

function luminance(colour) {
  const [r, g, b] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function tooLittleContrast() {
  const faults = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const ask = (element, colour, grounds, text) => {
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    for (const ground of grounds) {
      const found = contrast(over(colour, ground), ground);
      if (found < (large ? 3 : 4.5)) faults.add(`${text.trim().slice(0, 40)}: ${found.toFixed(2)} (${element.className.baseVal ?? element.className})`);
    }
  };
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element || /^(SCRIPT|STYLE|NOSCRIPT|title|desc|OPTION)$/.test(element.tagName) || !visible(element)) continue;
    if (element instanceof SVGElement) ask(element, rgba(getComputedStyle(element).fill), groundsOf(element), walker.currentNode.data);
    else ask(element, rgba(getComputedStyle(element).color), [backgroundOf(element)], walker.currentNode.data);
  }
  for (const input of document.querySelectorAll("input"))
    ask(input, rgba(getComputedStyle(input, "::placeholder").color), [backgroundOf(input)], input.placeholder);
  return [...faults];
}

function overflows() {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  return [...document.body.querySelectorAll("*")]
    .filter((element) => element.getBoundingClientRect().right > wide + 1)
    .map((element) => `${element.tagName} ${element.className.baseVal ?? element.className}`);
}

function controls() {
  const all = document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]');
  return [...all].filter((element) => visible(element) && !element.disabled);
}

// Whether what has the focus shows it: an outline, or a heavier frame of a node in the graph.
function focusShown() {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const frame = element instanceof SVGElement && element.querySelector("rect");
  return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || (frame && parseFloat(getComputedStyle(frame).strokeWidth) >= 3);
}

function nameless() {
  const named = (element) => element.getAttribute("aria-label") || element.getAttribute("aria-labelledby") || element.textContent.trim() || element.labels?.length;
  return [...document.querySelectorAll("button, a[href], input, select, summary, svg, [role=grid], [role=region], [role=group]")]
    .filter((element) => visible(element) && !named(element)).map((element) => element.outerHTML.slice(0, 80));
}
