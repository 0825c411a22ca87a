"""The style of the explorers' controls; their content has the style of `svctoolkit.display`."""

from __future__ import annotations

import re

_CSS = """
.svc-explorer{--line:var(--jp-border-color2,#d5dae0);--ui:var(--jp-ui-font-family,system-ui,sans-serif);
gap:10px;overflow:visible}
.svc-explorer .widget-html,.svc-explorer .widget-html-content{margin:0;height:auto;line-height:1.5;width:auto;
overflow:visible;min-width:0}
.svc-explorer .widget-html:has(>.widget-html-content>style:only-child),
.svc-explorer .widget-html:has(>.widget-html-content:empty){display:none}
.svc-explorer .svc-tree-tools{display:none}
.svc-explorer .svc-title{margin:0 0 4px;font:600 14px/1.4 var(--ui);color:var(--jp-ui-font-color1,inherit)}
.svc-explorer .svc-card{border:1px solid var(--line);border-radius:6px;padding:10px 14px;gap:8px;overflow:visible;
min-width:0}
.svc-explorer .svc-field{gap:2px;overflow:visible}
.svc-explorer .svc-help{color:var(--jp-ui-font-color2,#59636e);font-size:12px}
.svc-explorer .svc-fields{gap:10px;overflow:visible}
.svc-explorer .svc-rest{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(210px,100%),1fr));gap:10px 16px;
align-items:start;overflow:visible}
.svc-explorer .svc-rest:empty{display:none}
.svc-explorer .svc-legend{font-weight:600;color:var(--jp-ui-font-color1,inherit)}
.svc-explorer .svc-group{gap:6px;overflow:visible}
.svc-explorer .svc-labelled{flex-direction:column;align-items:stretch;height:auto;margin:0;overflow:visible}
.svc-explorer .svc-labelled>.widget-label{width:auto;max-width:none;text-align:left;margin:0;line-height:22px;
height:auto;white-space:normal;font-weight:600}
.svc-explorer .svc-labelled>:is(input,select,textarea){min-height:28px;border-radius:4px;width:100%}
.svc-explorer .widget-dropdown.svc-labelled>select{flex:0 0 auto;height:28px}
.svc-explorer .widget-dropdown>select{background-repeat:no-repeat;background-size:5px 5px;
background-position:right 13px center,right 8px center;
background-image:linear-gradient(45deg,transparent 50%,currentColor 50%),
linear-gradient(135deg,currentColor 50%,transparent 50%)}
.svc-explorer .widget-select.svc-labelled>select{font:inherit;padding:2px}
.svc-explorer .widget-select-multiple.svc-labelled>select{flex:0 0 auto;height:auto;font:inherit;padding:2px}
.svc-explorer .svc-fields:empty{display:none}
.svc-explorer .svc-fields+.svc-bar{margin-top:8px}
.svc-explorer .svc-bar>.svc-labelled{flex:1 1 150px;min-width:0}
.svc-explorer .svc-bar>button{align-self:end}
.svc-explorer .svc-bar>:is(.svc-check,.svc-check~button){align-self:center}
.svc-explorer .svc-check{margin:0;height:auto}
.svc-explorer .svc-check label{width:auto;white-space:normal;height:auto;overflow:visible;line-height:1.4}
.svc-explorer .svc-code textarea{font:12.5px/1.5 var(--jp-code-font-family,monospace);tab-size:2}
.svc-explorer .svc-code-box{overflow:visible;gap:2px}
.svc-explorer .svc-code-box:has(.cm-editor)>.svc-code{display:none}
.svc-explorer .svc-editor{height:auto;overflow:visible;margin:0}
.svc-explorer .svc-editor>.widget-label{width:auto;text-align:left;line-height:22px;font-weight:600;height:auto}
.svc-explorer .svc-editor:empty,.svc-explorer .svc-code-box>.error-widget{display:none}
.svc-explorer .svc-bar{flex-flow:row wrap;gap:8px 14px;align-items:center;overflow:visible;padding-left:3px}
.svc-explorer .svc-bar>*{margin:0}
.svc-explorer .widget-gridbox{overflow:visible;align-items:start}
.svc-explorer .widget-tab>.lm-TabBar .lm-TabBar-tab{color:var(--jp-ui-font-color1,inherit)}
.svc-explorer .widget-tab>.widget-tab-contents{padding:10px;overflow:auto;
background:var(--jp-layout-color0,transparent)}
.svc-explorer :is(button,input,select,textarea,summary):focus-visible{outline:2px solid var(--jp-info-color1,#0969da);
outline-offset:1px}
"""
STYLE = re.sub(r"\n\s*", "", _CSS)
