#include "study/plots/cause_bars.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.hpp"
#include "sim/draw/scene.hpp"
#include "study/document/html.hpp"

namespace pipeloom::study::page {
namespace {

constexpr double kWidth = 1160;
constexpr double kPitch = 27;
constexpr double kHeight = 20;
constexpr double kTextSize = 12;
constexpr double kLongestLabel = 260;

std::string share_text(TickSum part, TickSum whole) {
  return whole <= 0 ? "" : percent_text(share_of(part, whole));
}

/// The label cut to fit, from its left: file names differ at their ends.
std::string fitted(const std::string& label) {
  if (draw::text_width(label, kTextSize) <= kLongestLabel) return label;
  std::string kept = label;
  while (!kept.empty() && draw::text_width(kept, kTextSize) > kLongestLabel - kTextSize) {
    kept.erase(0, 1);
    while (!kept.empty() && (static_cast<unsigned char>(kept.front()) & 0xC0U) == 0x80U) kept.erase(0, 1);
  }
  return "\xe2\x80\xa6" + kept;
}

struct Place {
  double x = 0;
  double y = 0;
  double pixels_per_tick = 0;
};

std::string segments(const CauseBar& bar, TimeUnit unit, Place at) {
  std::string out;
  for (std::size_t i = 0; i < kIdleCauses; ++i) {
    const auto cause = static_cast<IdleCause>(i);
    const TickSum time = bar.causes.of(cause);
    if (time <= 0) continue;
    const double width = std::max(0.5, static_cast<double>(time) * at.pixels_per_tick);
    const std::string share = share_text(time, bar.whole);
    out += fmt::format(
        R"(<rect class="fill boxed {}" x="{}" y="{}" width="{}" height="{}"><title>{}: {}, {}, {} of its time</title></rect>)",
        idle_class(cause), coordinate(at.x), coordinate(at.y), coordinate(width), coordinate(kHeight),
        escaped(bar.label), name_of(cause), format_ticks(time, unit), share);
    for (const std::string& words :
         {fmt::format("{} {}", name_of(cause), share), std::string(name_of(cause)), share}) {
      if (draw::text_width(words, 11) + 8 > width) continue;
      out += fmt::format(R"(<text class="num {}" x="{}" y="{}" font-size="11">{}</text>)", idle_class(cause),
                         coordinate(at.x + width / 2), coordinate(at.y + kHeight / 2 + 4), words);
      break;
    }
    at.x += width;
  }
  return out;
}

}  // namespace

Figure draw_cause_bars(const std::vector<CauseBar>& bars, TimeUnit unit, const std::string& id) {
  double left = 0;
  TickSum longest = 1;
  for (const CauseBar& bar : bars) {
    left = std::max(left, draw::text_width(fitted(bar.label), kTextSize));
    longest = std::max(longest, bar.causes.total());
  }
  left += 10;
  const double right = 150;  // the sum after each bar
  const double scale = (kWidth - left - right) / static_cast<double>(longest);
  const double height = kPitch * static_cast<double>(bars.size());
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="tips" id="{}" role="img" viewBox="0 0 {} {}" aria-label="Idle time by cause; the table has the numbers">)",
      id, coordinate(kWidth), coordinate(height));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const CauseBar& bar = bars[i];
    const double y = static_cast<double>(i) * kPitch + (kPitch - kHeight) / 2;
    const double end = left + static_cast<double>(bar.causes.total()) * scale;
    out += fmt::format("\n<text class=\"ink end\" x=\"{}\" y=\"{}\" font-size=\"12\">{}</text>",
                       coordinate(left - 8), coordinate(y + kHeight / 2 + 4), escaped(fitted(bar.label)));
    out += segments(bar, unit, {left, y, scale});
    out += fmt::format("<text class=\"muted-ink\" x=\"{}\" y=\"{}\" font-size=\"12\">{}</text>",
                       coordinate(end + 8), coordinate(y + kHeight / 2 + 4),
                       fmt::format("{}, {}", format_ticks(bar.causes.total(), unit),
                                   share_text(bar.causes.total(), bar.whole)));
  }
  Figure figure;
  figure.markup = out + "\n</svg>";
  return figure;
}

Legend cause_legend(const std::vector<CauseBar>& bars) {
  Legend legend;
  for (std::size_t i = 0; i < kIdleCauses; ++i) {
    const auto cause = static_cast<IdleCause>(i);
    if (std::any_of(bars.begin(), bars.end(),
                    [cause](const CauseBar& bar) { return bar.causes.of(cause) > 0; }))
      legend.entries.push_back({{idle_class(cause)}, std::string(name_of(cause))});
  }
  return legend;
}

}  // namespace pipeloom::study::page
