#include "cli/pages/picture_options.hpp"

#include <fmt/format.h>

#include "sim/base/text_tools.hpp"
#include "sim/draw/terminal.hpp"

namespace pipeloom::cli {
namespace {

constexpr int kMinWidth = 120;
constexpr int kMaxPictureWidth = 32'767;

Ticks parse_side(std::string_view text, std::string_view whole, TimeUnit unit, Ticks fallback) {
  if (text.empty()) return fallback;
  const auto time = parse_ticks(text, unit);
  if (!time || time->value < 0)
    throw InputError(Where{"--range"}, fmt::format("found '{}'; allowed is FROM:TO in the run's time unit, "
                                                   "such as 2:10.5, where either side may be left out",
                                                   shortened(whole, 64)));
  return time->value;
}

}  // namespace

bool PictureOptions::given() const {
  return width || range || colour_by || theme || !titles.empty() || memory || idle_causes || critical_path ||
         patterns;
}

Span parse_range(std::string_view text, TimeUnit unit, Span all) {
  const auto colon = text.find(':');
  // Without a colon there is no range: let the number reader refuse the text.
  const std::string_view from = colon == std::string_view::npos ? ":" : text.substr(0, colon);
  const std::string_view to = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const Span range{parse_side(from, text, unit, all.start), parse_side(to, text, unit, all.end)};
  if (range.start >= range.end)
    throw InputError(Where{"--range"}, fmt::format("'{}' is empty: it must end after its start; the run goes "
                                                   "from {} to {}",
                                                   shortened(text, 64), format_ticks(all.start, unit),
                                                   format_ticks(all.end, unit)));
  if (range.start >= all.end)
    throw InputError(
        Where{"--range"},
        fmt::format("'{}' shows nothing: the run goes from {} to {}; give a part of that",
                    shortened(text, 64), format_ticks(all.start, unit), format_ticks(all.end, unit)));
  return range;
}

draw::SceneOptions PictureOptions::scene_options(const Timeline& timeline) const {
  draw::SceneOptions out;
  if (width) out.width = parse_count("--width", *width, kMinWidth, kMaxPictureWidth);
  if (range) out.range = parse_range(*range, timeline.unit, {0, span_of(timeline, timeline.steps - 1).end});
  if (colour_by) {
    require_choice("--colour-by", *colour_by, {"kind", "stage", "microbatch", "rank"});
    out.colour_by = *draw::colour_by_named(*colour_by);
  }
  if (theme) {
    require_choice("--theme", *theme, {"light", "dark"});
    out.theme = *draw::theme_named(*theme);
  }
  if (!titles.empty()) out.title = titles.front();
  out.show_memory = memory;
  out.show_idle_causes = idle_causes;
  out.show_critical_path = critical_path;
  out.patterns = patterns;
  return out;
}

study::page::Figure chart_of_letters(const Timeline& timeline, const PrintOptions& print,
                                     const Screen& screen, bool everything) {
  draw::TerminalOptions options;
  options.width = screen.width;
  options.colour = print.is("table") ? screen.colour : draw::TerminalColour::None;
  options.unicode = screen.unicode;
  if (everything) options.max_ranks = timeline.schedule->ranks();
  study::page::Figure figure;
  figure.text_chart = draw::terminal_chart(timeline, options);
  return figure;
}

void add_picture_options(OptionList& list, PictureOptions& options) {
  constexpr const char* kGroup = "Pictures (svg, png, pdf)";
  list.option("--width", options.width, "PIXELS", "Width in pixels").under(kGroup);
  list.option("--range", options.range, "FROM:TO", "Part of the time axis to show").under(kGroup);
  list.option("--colour-by,--color-by", options.colour_by, "kind|stage|microbatch|rank",
              "What colours tell; default kind")
      .under(kGroup);
  list.option("--theme", options.theme, "light|dark", "Default light").under(kGroup);
  list.option("--title", options.titles, "TEXT",
              "Title above the picture; of several runs one for each: repeatable")
      .repeatable()
      .under(kGroup);
  list.flag("--memory", options.memory, "Memory curve below each rank").under(kGroup);
  list.flag("--idle-causes", options.idle_causes, "Tint idle time by its cause").under(kGroup);
  list.flag("--critical-path", options.critical_path, "Outline the critical path").under(kGroup);
  list.flag("--patterns", options.patterns, "A pattern per kind of op, for prints without colour")
      .under(kGroup);
}

}  // namespace pipeloom::cli
