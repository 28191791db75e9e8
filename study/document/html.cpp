#include "study/document/html.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/draw/tokens.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::study::page {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Line ends and tabs are no harm within a page.
bool may_stand(std::uint32_t code) {
  return code == '\n' || code == '\t' || is_printable(code);
}

std::string_view reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [length, code] = utf8_character(text.substr(at));
    if (length == 0 || !may_stand(code))
      out += kReplacement;
    else if (const std::string_view written = reference(text[at]); !written.empty())
      out += written;
    else
      out += text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string element(std::string_view name, std::string_view attributes, std::string_view content) {
  return fmt::format("<{}{}{}>{}</{}>", name, attributes.empty() ? "" : " ", attributes, content, name);
}

std::string coordinate(double value, int digits) {
  constexpr std::array<long long, 4> kPowers = {1, 10, 100, 1000};
  const long long power = kPowers[static_cast<std::size_t>(digits)];
  const long long scaled = std::llround(value * static_cast<double>(power));
  std::string out = scaled < 0 ? "-" : "";
  out += std::to_string(std::llabs(scaled) / power);
  long long rest = std::llabs(scaled) % power;
  if (rest == 0) return out;
  std::string fraction = fmt::format("{:0{}}", rest, digits);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return out + '.' + fraction;
}

namespace {

using draw::Colour;
using draw::Theme;

void add_colour(std::string& out, std::string_view name, Colour colour) {
  out += fmt::format("--{}:{};", name, to_hex(colour));
}

void add_class(std::string& out, std::string_view name, Colour colour) {
  out += fmt::format(".{}{{color:{};--on:{}}}", name, to_hex(colour), to_hex(draw::text_on(colour)));
}

/// Variables and colour classes of one theme.
std::string theme_rules(Theme theme) {
  const draw::Surface& surface = draw::surface_of(theme);
  const draw::Tokens& tokens = draw::tokens_of(theme);
  std::string out = fmt::format(":root{{color-scheme:{};", theme == Theme::Light ? "light" : "dark");
  add_colour(out, "ground", tokens.ground);
  add_colour(out, "card", tokens.panel);
  add_colour(out, "row", surface.row);
  add_colour(out, "grid", surface.grid);
  add_colour(out, "axis", surface.axis);
  add_colour(out, "text", surface.text);
  add_colour(out, "muted", surface.muted);
  add_colour(out, "critical", surface.critical);
  add_colour(out, "limit", surface.memory_limit);
  add_colour(out, "memory-line", surface.memory_line);
  add_colour(out, "memory-fill", surface.memory_fill);
  add_colour(out, "accent", tokens.accent);
  add_colour(out, "good", tokens.good);
  add_colour(out, "bad", tokens.bad);
  add_colour(out, "warning", tokens.warning);
  out += '}';
  for (const OpKind kind : kAllOpKinds)
    for (int shades = 1; shades <= 4; ++shades)
      for (int shade = 0; shade < shades; ++shade)
        add_class(out, op_class(kind, shade, shades), draw::kind_colour(theme, kind, shade, shades));
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    add_class(out, idle_class(static_cast<IdleCause>(i)),
              draw::idle_colour(theme, static_cast<IdleCause>(i)));
  for (int i = 0; i < kSeriesColours; ++i)
    add_class(out, series_class(i), draw::series_colour(theme, i, kSeriesColours));
  return out + '\n';
}

constexpr std::string_view kPage = R"(
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 Inter,system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,"Liberation Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
header,main,footer{max-width:1360px;margin:0 auto;padding:0 24px}
header{padding-top:28px}
h1{font-size:26px;line-height:1.25;margin:0;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:18px;line-height:1.3;margin:0 0 10px}
.subtitle{margin:4px 0 0;color:var(--muted);overflow-wrap:anywhere}
section,details.section{margin:18px 0;padding:18px 20px;background:var(--card);border:1px solid var(--grid);border-radius:10px}
header>*+.facts{margin-top:18px}
p{margin:10px 0;max-width:75em;overflow-wrap:anywhere}
footer{padding-top:6px;padding-bottom:32px;color:var(--muted);font-size:13px}
summary{cursor:pointer}
summary h2{display:inline;margin:0}
details[open]>summary{margin-bottom:10px}
nav{margin-top:16px;font-size:14px}
nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:4px 18px}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-9999px}
.skip:focus{left:16px;top:8px;background:var(--card);padding:6px 10px}
.good{color:var(--good)}.bad{color:var(--bad)}.warning{color:var(--warning)}.muted{color:var(--muted)}
p.good,p.bad,p.warning{padding:8px 12px;border-left:4px solid currentColor;background:var(--row);border-radius:0 6px 6px 0}
.sign{font-weight:700}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin:12px 0}
.fact{background:var(--card);border:1px solid var(--grid);border-radius:10px;padding:12px 14px;display:flex;flex-direction:column}
.fact dt{color:var(--muted);font-size:13px}
.fact dd{margin:0}
.fact .value{font-size:24px;font-weight:650;line-height:1.25;overflow-wrap:anywhere}
.fact .note{font-size:13px;color:var(--muted)}
.fact.good{border-left:4px solid var(--good);color:inherit}.fact.bad{border-left:4px solid var(--bad);color:inherit}.fact.warning{border-left:4px solid var(--warning);color:inherit}
.fact.good .note{color:var(--good)}.fact.bad .note{color:var(--bad)}.fact.warning .note{color:var(--warning)}
.scroll{overflow:auto hidden;margin:10px 0;background:linear-gradient(90deg,var(--card) 40%,transparent) 0 0/36px 100% no-repeat local,linear-gradient(270deg,var(--card) 40%,transparent) 100% 0/36px 100% no-repeat local,linear-gradient(90deg,var(--grid),transparent) 0 0/14px 100% no-repeat scroll,linear-gradient(270deg,var(--grid),transparent) 100% 0/14px 100% no-repeat scroll}
.scroll[data-wide]::before{content:"\2194  scroll sideways for more";position:sticky;left:0;display:block;width:max-content;color:var(--muted);font-size:13px}
table{border-collapse:collapse;font-size:14px;min-width:min(100%,420px)}
caption{text-align:left;color:var(--muted);padding:2px 0 6px}
th,td{padding:5px 12px 5px 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--grid);font-weight:400}
thead th{font-weight:600;border-bottom:2px solid var(--grid);vertical-align:bottom}
th.n,td.n{text-align:right}
td.n,th:has(>.swatch){white-space:nowrap}
tr>:first-child,.numbered tr>:nth-child(2){position:sticky;left:0;background:var(--card)}
.numbered tr>:first-child{min-width:44px}
.numbered tr>:nth-child(2){left:44px}
tbody tr:hover,tbody tr:hover>*{background:var(--row)}
thead button{font:inherit;text-align:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}
thead button::after{content:"\2060\a0\2195";color:var(--muted);font-weight:400}
th[aria-sort=ascending] button::after{content:"\2060\a0\2191";color:var(--text)}
th[aria-sort=descending] button::after{content:"\2060\a0\2193";color:var(--text)}
.swatch{display:inline-block;width:.8em;height:.8em;margin-right:.45em;background:currentColor;border:1px solid var(--axis);border-radius:2px;vertical-align:-.06em}
.swatch+.swatch{margin-left:-.45em}
li.part{margin-left:1.2em}
.legend{display:flex;flex-wrap:wrap;gap:2px 18px;list-style:none;margin:8px 0;padding:0;font-size:13px}
pre{overflow-x:auto;margin:10px 0;padding:12px 14px;background:var(--row);border-radius:6px;font:13px/1.45 ui-monospace,"DejaVu Sans Mono","Liberation Mono",Menlo,Consolas,monospace}
figure{margin:10px 0}
figcaption{color:var(--muted);font-size:13px;margin-top:4px}
.tools{display:none;gap:6px;align-items:center;margin-bottom:6px;font-size:13px;color:var(--muted)}
[data-script] .tools{display:flex}
.tools button{font:inherit;min-width:30px;padding:2px 9px;color:var(--text);background:var(--row);border:1px solid var(--grid);border-radius:6px;cursor:pointer}
.tools button:hover{border-color:var(--axis)}
.tools span{margin-left:6px}
#tip{position:fixed;z-index:9;left:0;top:0;max-width:360px;padding:6px 9px;white-space:pre-line;font-size:13px;line-height:1.4;color:var(--text);background:var(--card);border:1px solid var(--axis);border-radius:6px;box-shadow:0 3px 14px rgb(0 0 0/.25);pointer-events:none;visibility:hidden}
#tip.on{visibility:visible}
)";

// Charts are 1160 units wide and their smallest text is 11 high: below this width it would not be legible, and they scroll.
constexpr std::string_view kCharts = R"(
svg{display:block;width:100%;height:auto;min-width:1060px;font-family:inherit;overflow:visible}
svg.plot{overflow:hidden;width:auto;height:auto;min-width:0}
svg.zoom{touch-action:manipulation;outline-offset:-2px}
[data-script] svg.zoom .plot{cursor:crosshair}
svg.zoom.drags .plot{cursor:grabbing}
.fill{fill:currentColor}
.line{fill:none;stroke:currentColor}
.edged{stroke:var(--row);stroke-width:.7;vector-effect:non-scaling-stroke}
.boxed{stroke:var(--axis);stroke-width:.8}
.hair{fill:none;stroke:currentColor;stroke-width:1;vector-effect:non-scaling-stroke}
.ink{fill:var(--text)}.muted-ink{fill:var(--muted)}.good-ink{fill:var(--good)}.bad-ink{fill:var(--bad)}
.axis-line{fill:none;stroke:var(--axis);stroke-width:1}
.grid-line{fill:none;stroke:var(--grid);stroke-width:1;vector-effect:non-scaling-stroke}
.row-ground{fill:var(--row)}
.gap{fill:none;stroke:var(--row);stroke-width:1;vector-effect:non-scaling-stroke}
.limit-line{fill:none;stroke:var(--limit);stroke-width:1.4;stroke-dasharray:5 4;vector-effect:non-scaling-stroke}
.critical-path{fill:none;stroke:var(--critical);pointer-events:none}
.critical-swatch{color:var(--critical)}.memory-swatch{color:var(--memory-fill)}.limit-swatch{color:var(--limit)}
.num.plain{fill:var(--text)}
.memory-area{fill:var(--memory-fill);stroke:var(--memory-line);stroke-width:1.1;vector-effect:non-scaling-stroke}
.num{fill:var(--on);pointer-events:none;text-anchor:middle}
.end{text-anchor:end}.middle{text-anchor:middle}.strong{font-weight:600}
.cursor{fill:none;stroke:var(--axis);stroke-width:1;pointer-events:none}
@media (max-width:600px){
header,main,footer{padding-left:12px;padding-right:12px}
section,details.section{padding:14px 12px}
.fact .value{font-size:19px}
}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media (forced-colors:active){svg,.swatch{forced-color-adjust:none}}
@media print{
body{font-size:10.5pt;background:#fff}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
section,details.section{border:0;border-radius:0;padding:0;break-inside:auto}
h2,caption,.legend{break-after:avoid}
.facts{grid-template-columns:repeat(auto-fit,minmax(130px,1fr))}
figure,tr,.fact{break-inside:avoid}
nav,.skip,[data-script] .tools,#tip{display:none}
thead button::after{content:none}
.scroll{overflow:visible;background:none}
.scroll[data-wide]::before{content:none}
tr>*{position:static!important}
svg{min-width:0!important;max-width:100%}
pre{white-space:pre-wrap}
}
@page{size:landscape;margin:12mm}
)";

}  // namespace

std::string op_class(OpKind kind, int shade, int shades) {
  const int levels = shades < 1 ? 1 : shades > 4 ? 4 : shades;
  return fmt::format("{}{}-{}", letter_of(kind), shade % levels, levels);
}

std::string idle_class(IdleCause cause) {
  return fmt::format("idle-{}", name_of(cause));
}

std::string series_class(int index) {
  return fmt::format("s{}", index % kSeriesColours);
}

std::string style_sheet() {
  std::string out = theme_rules(Theme::Light);
  // Paper is light whatever the screen is.
  out += "@media screen and (prefers-color-scheme:dark){" + theme_rules(Theme::Dark) + "}";
  out += kPage;
  out += kCharts;
  return out;
}

}  // namespace pipeloom::study::page
