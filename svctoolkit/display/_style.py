"""The style of all parts: colours of JupyterLab, else of VS Code, else built-in ones for light and dark."""

from __future__ import annotations

import re

_CSS = """
.svc{--l:#fff;--l2:#f6f7f9;--f:#1f2328;--d:#59636e;--b:#d5dae0;--k:#0550ae;--s:#a31515;--n:#116329;--w:#8250df;
--g:#1a7f37;--r:#cf222e;--y:#9a6700;--i:#0969da}
@media(prefers-color-scheme:dark){.svc{--l:#15181c;--l2:#1f242a;--f:#e6e8eb;--d:#a0a8b2;--b:#3a4149;--k:#79b8ff;
--s:#ff9d8a;--n:#7ee0a0;--w:#d2a8ff;--g:#4cc36b;--r:#ff7b72;--y:#e3b341;--i:#6cb6ff}}
.svc{--bg:var(--jp-layout-color1,var(--vscode-editor-background,var(--l)));
--bg2:color-mix(in srgb,var(--bg) 45%,var(--jp-layout-color2,var(--vscode-sideBar-background,var(--l2))));
--fg:var(--jp-content-font-color1,var(--vscode-editor-foreground,var(--f)));
--dim:color-mix(in srgb,var(--fg) 72%,var(--bg));
--line:var(--jp-border-color2,var(--vscode-panel-border,var(--b)));
--ok:var(--jp-success-color1,var(--g));--bad:var(--jp-error-color1,var(--r));
--warn:var(--jp-warn-color1,var(--y));--info:var(--jp-info-color1,var(--i));
--key:var(--jp-mirror-editor-property-color,var(--k));--text:var(--jp-mirror-editor-string-color,var(--s));
--number:color-mix(in srgb,var(--jp-mirror-editor-number-color,var(--n)) 80%,var(--fg));
--word:var(--jp-mirror-editor-keyword-color,var(--w));
--ui:var(--jp-ui-font-family,system-ui,sans-serif);--mono:var(--jp-code-font-family,ui-monospace,monospace);
color:var(--fg);background:var(--jp-layout-color0,var(--bg));font:13px/1.5 var(--ui);max-width:100%}
.svc *{box-sizing:border-box}
.svc .dim{color:var(--dim)}
.svc .sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.svc h4.title{margin:0 0 6px;font:600 13px/1.4 var(--ui);color:var(--fg)}
.svc .columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(320px,100%),1fr));gap:10px;
align-items:start}
.svc .columns>div{min-width:0;margin:0}
.svc .box{background:var(--bg);border:1px solid var(--line);border-radius:6px;overflow:auto;max-height:640px}
.svc .box>header{display:flex;gap:8px;align-items:baseline;justify-content:space-between;padding:6px 12px;
background:var(--bg2);border-bottom:1px solid var(--line);position:sticky;top:0;z-index:1}
.svc .box>header b{font-weight:600;min-width:0;overflow-wrap:anywhere}
.svc .note{color:var(--dim);white-space:nowrap;font-size:12px}
.svc .pad{padding:8px 12px}
.svc .url{font-family:var(--mono);font-weight:400}
.svc .pill{display:inline-block;font:600 12px/1 var(--ui);padding:3px 8px;border-radius:10px;white-space:nowrap;
color:var(--fg);--p:var(--dim);background:color-mix(in srgb,var(--p) 16%,transparent);
border:1px solid color-mix(in srgb,var(--p) 50%,transparent)}
.svc .ok{--p:var(--ok)}.svc .error{--p:var(--bad)}.svc .warning{--p:var(--warn)}.svc .info{--p:var(--info)}
.svc :is(p,pre,ol){margin:0}
.svc p.message{padding:8px 12px;border-radius:6px;overflow-wrap:anywhere;--q:var(--p,var(--dim));
border:1px solid color-mix(in srgb,var(--q) 50%,transparent);border-left:4px solid var(--q);
background:color-mix(in srgb,var(--q) 9%,var(--bg))}
.svc .tree{position:relative;padding:6px 12px;font:12.5px/1.55 var(--mono)}
.svc .tree ul{list-style:none;margin:0 0 0 5px;padding:0 0 0 15px;border-left:1px solid var(--line)}
.svc .tree li{margin:0;padding:0;overflow-wrap:anywhere}
.svc summary:hover,.svc .tree li:not(:has(ul)):hover{background:color-mix(in srgb,var(--info) 8%,transparent)}
.svc summary{cursor:pointer;border-radius:3px;list-style:none}
.svc summary::-webkit-details-marker{display:none}
.svc summary::before{content:"▸";display:inline-block;width:15px;margin-left:-15px;color:var(--dim)}
.svc details[open]>summary::before{content:"▾"}
.svc .tree>details>summary,.svc details.more>summary{margin-left:15px}
.svc .tree>details>ul{margin-left:20px}
.svc .tree>.all{display:none;position:absolute;right:12px;gap:4px;font:12px/1.5 var(--ui)}
.svc .tree>.all::after{content:"Expand all"}
@supports selector(::details-content){.svc .tree>.all{display:flex}
.svc .tree:has(>.all>:checked){details::details-content{content-visibility:visible}
summary{pointer-events:none}summary::before{content:"▾"}}}
.svc :focus-visible{outline:2px solid var(--info);outline-offset:-2px}
.svc .key{color:var(--key)}.svc .text{color:var(--text)}.svc .number{color:var(--number)}.svc .word{color:var(--word)}
.svc .tree :is(.text,.number){user-select:all}
.svc .scroll{width:fit-content;min-width:min(100%,420px);max-width:100%;overflow:auto;max-height:520px;
border:1px solid var(--line);border-radius:6px;background:var(--bg)}
.svc table{table-layout:auto;margin:0;border:0;border-collapse:collapse;font:inherit;color:inherit}
.svc table.rows{width:100%}
.svc caption{text-align:left;padding:6px 12px;font-weight:600;color:var(--fg);background:var(--bg2);caption-side:top}
.svc table td,.svc table th{text-align:left;vertical-align:top;border:0;padding:4px 12px;max-width:none;
white-space:normal;font-size:inherit;line-height:inherit}
.svc table.rows th{color:var(--dim);font-weight:600;background:var(--bg2);white-space:nowrap}
.svc table.rows td{border-top:1px solid var(--line);overflow-wrap:break-word}
.svc table.wide td{white-space:nowrap}
.svc .scroll:has(>.opens){width:100%;max-height:none}
.svc .opens tbody{position:relative}
.svc .opens tr:first-child>td:first-child{padding-left:28px}
.svc .opens .inside>td{padding:0;border:0}
.svc .inside>td>details{>summary{position:absolute;inset:0;padding:4px 12px;&::before{margin:0}}
&[open]>summary{inset:0 0 auto;height:30px}>div{padding:4px 12px 12px 28px}}
.svc tbody tr:nth-child(n),.svc tbody tr:nth-child(n):hover{background:none}
.svc table .figure{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.svc table.facts th{color:var(--dim);font-weight:400;padding:1px 14px 1px 0;white-space:nowrap}
.svc table.facts td{padding:1px 0;overflow-wrap:anywhere}
.svc pre,.svc code{font:12.5px/1.5 var(--mono);color:inherit;background:none;border:0;padding:0}
.svc pre{white-space:pre-wrap;overflow-wrap:anywhere}
.svc pre.code{user-select:all;padding:8px 12px;max-height:420px;overflow:auto;border-radius:6px;
background:var(--bg2);border:1px solid var(--line)}
.svc .box pre.code{border-width:0;border-radius:0;background:none}
.svc table.diff{table-layout:fixed;width:100%;font:12.5px/1.5 var(--mono)}
.svc table.diff td{padding:0 8px;white-space:pre-wrap;overflow-wrap:anywhere}
.svc table.diff th{padding:0}
.svc col.line{width:4.6em}
.svc table.diff td.line{padding:0 6px;color:var(--dim);text-align:right;white-space:nowrap;
user-select:none;overflow:hidden}
.svc table.diff td:nth-child(3){border-left:1px solid var(--line)}
.svc td.gone{background:color-mix(in srgb,var(--bad) 12%,transparent)}
.svc td.come{background:color-mix(in srgb,var(--ok) 14%,transparent)}
.svc td.pad-cell{background:color-mix(in srgb,var(--dim) 7%,transparent)}
.svc td.whole :is(del,ins){background:none!important}
.svc del,.svc ins{text-decoration:none;border-radius:2px;color:inherit}
.svc del{background:color-mix(in srgb,var(--bad) 32%,transparent)}
.svc ins{background:color-mix(in srgb,var(--ok) 34%,transparent)}
.svc mark{color:inherit;background:color-mix(in srgb,var(--warn) 26%,transparent);border-radius:2px}
.svc table.diff td.fold{background:var(--bg2);color:var(--dim);padding:1px 24px;border-block:1px solid var(--line)}
.svc ol.strip{display:flex;flex-wrap:wrap;gap:8px 26px;list-style:none;padding:0}
.svc ol.strip li{position:relative;flex:1 1 170px;min-width:0;margin:0;padding:7px 12px;background:var(--bg);
border:1px solid var(--line);border-top:3px solid var(--p,var(--line));border-radius:6px;overflow-wrap:anywhere}
.svc ol.strip li+li::before{content:"→";position:absolute;left:-21px;top:50%;margin-top:-.8em;color:var(--dim)}
.svc ol.strip li>b{display:block;font-weight:600;margin-bottom:3px}
.svc svg.diagram{display:block;width:100%;max-width:820px;height:auto}
.svc .node rect{fill:var(--bg2);stroke:var(--line)}
.svc .node text{fill:var(--fg);font:600 13px var(--ui)}
.svc .node text.below{fill:var(--dim);font-weight:400;font-size:12px}
.svc .edge{fill:none;stroke:var(--info);stroke-width:1.6}
.svc .off rect,.svc .edge.off{stroke:var(--dim);stroke-dasharray:4 4}
.svc~.svc{margin-top:10px}
.svc :is(section,div,p,pre,ol,details,table)+:is(section,div,p,pre,ol,details){margin-top:10px}
"""
# Below 620 px, wide pictures scroll: shrunk to a phone, their labels of 12 px would have 6.
_PICTURES = """
.svc figure.picture{margin:0 0 10px;max-width:860px}
.svc *+figure.picture{margin-top:10px}
.svc figure.picture:has(.small){max-width:660px}.svc figure.picture:has(.narrow){max-width:480px}
.svc .picture figcaption{font-weight:600;margin-bottom:4px}
.svc .picture ul{display:flex;flex-wrap:wrap;gap:2px 16px;list-style:none;margin:0 0 6px;padding:0;font-size:12px}
.svc .picture li{margin:0;min-width:0;overflow-wrap:anywhere}
.svc .picture .scroll{width:100%;max-height:none;padding:8px}
.svc svg.picture{display:block;width:100%;min-width:620px;height:auto}
.svc svg.picture.small{min-width:440px;max-width:640px}.svc svg.picture.narrow{min-width:320px;max-width:460px}
.svc .picture .next{fill:none;stroke:var(--info);stroke-width:2}
.svc .picture text{fill:var(--fg);font:12px var(--ui)}
.svc .picture text.small{font-size:10px}
.svc .picture :is(text,tspan).dim{fill:var(--dim)}
.svc .picture .halo{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}
.svc .picture :is(rect,path,circle){--t:var(--dim);fill:color-mix(in srgb,var(--t) 78%,var(--fg))}
.svc .picture .ribbon{fill:none;stroke:color-mix(in srgb,var(--t) 78%,var(--fg));stroke-opacity:.5}
.svc .picture .ribbon:hover{stroke-opacity:.8}
.svc .picture .ok{--t:var(--ok)}.svc .picture .bad{--t:var(--bad)}.svc .picture .warn{--t:var(--warn)}
.svc .picture .info{--t:var(--info)}.svc .picture .node{--t:var(--fg)}
.svc .picture .c0{--t:#2f7ed8}.svc .picture .c1{--t:#d9730d}.svc .picture .c2{--t:#8e5bd0}
.svc .picture .c3{--t:#0f9d8a}.svc .picture .c4{--t:#d6498f}.svc .picture .c5{--t:#8a8a10}
.svc .picture .c6{--t:#a0653c}.svc .picture .c7{--t:#3aa0c9}
.svc .picture .wire{fill:none;stroke:color-mix(in srgb,var(--t) 78%,var(--fg));stroke-width:1.4}
.svc .picture text.lost{fill:color-mix(in srgb,var(--bad) 78%,var(--fg))}
.svc .picture .grid{stroke:var(--line)}
.svc .picture .mark{stroke:var(--fg);stroke-dasharray:3 3}
"""


def _minified(css: str) -> str:
    # The doubled class overrides JupyterLab's own rules for tables and code in outputs.
    return re.sub(r"\n\s*", "", css).replace(".svc ", ".svc.svc ")


STYLE = _minified(_CSS)
#: For pages with pictures, in addition to `STYLE`.
PICTURE_STYLE = _minified(_PICTURES)
