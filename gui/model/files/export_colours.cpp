#include "gui/model/files/export_colours.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/op_look.hpp"

namespace pipeloom::gui {
namespace {

using draw::Colour;
using Entry = draw::OwnColours::LegendEntry;

constexpr int kRampSwatches = 24;

/// The look of a run with the objects that it points into.
struct KeptLook {
  RunPtr run;
  ChartColours colours;
  OpTints tints;
  SlackLevels slack;
  OpMatches matches;
  OpLook look;

  KeptLook(const KeptLook&) = delete;  // `look` points into it
  KeptLook& operator=(const KeptLook&) = delete;
  KeptLook(const Session& session, const ChartPart& part, RunPtr of, ChartColours::Key key)
      : run(std::move(of)), colours(*run, std::move(key)) {
    const auto keep = [&](auto& to, const auto& map) {
      if (const auto found = map.find(run->id); found != map.end()) to = found->second;
    };
    keep(tints, part.tints);
    keep(slack, part.slack);
    keep(matches, part.bright());
    look = op_look(session, part, *run, colours);
  }
};

Colour colour_of(Rgba rgba) {
  return {static_cast<std::uint8_t>(rgba), static_cast<std::uint8_t>(rgba >> 8U),
          static_cast<std::uint8_t>(rgba >> 16U)};
}

/// "shorter to longer": `at(share)` from 0 to 1.
template <class At>
Entry ramp(std::string text, At at) {
  Entry out{{}, std::move(text)};
  for (int i = 0; i < kRampSwatches; ++i)
    out.swatches.push_back(colour_of(at(double{1} * i / (kRampSwatches - 1))));
  return out;
}

std::vector<Entry> legend_of(const OpLook& look) {
  const ChartColours& colours = *look.colours;
  if (look.tint != nullptr)
    return {ramp("Shorter to longer", [&](double share) { return colours.tint_at(share).fill; }),
            {{colour_of(colours.of_tint(0).fill)}, "Equal"},
            {{colour_of(colours.of_tint(kNoCounterpart).fill)}, "Only here"}};
  if (look.slack != nullptr)
    return {ramp("Critical to slack", [&](double share) { return colours.slack_at(share).fill; })};
  std::vector<Entry> out;
  if (colours.key().by != GanttColour::Chunk) return out;
  for (std::size_t i = 0; i < colours.series(); ++i)
    out.push_back({{colour_of(colours.of_series(i).fill)}, fmt::format("Chunk {}", i)});
  return out;
}

/// Pictures know these colourings themselves, as long as nothing is dimmed.
bool is_plain(const OpLook& look, const ViewState& view) {
  const bool known = view.colour != GanttColour::Chunk && look.slack == nullptr && look.tint == nullptr;
  return known && look.matches == nullptr && !look.kind && view.hidden_kinds == 0;
}

}  // namespace

std::shared_ptr<const draw::OwnColours> export_colours(Session& session, const RunPtr& run,
                                                       draw::Theme theme) {
  const auto& part = session.part<ChartPart>();
  const ChartColours::Key key{run->id,
                              session.view.colour,
                              theme == draw::Theme::Dark,
                              session.preferences.palette,
                              session.view.hidden_kinds,
                              part.tints.contains(run->id)};
  const auto kept = std::make_shared<const KeptLook>(session, part, run, key);
  if (is_plain(kept->look, session.view)) return nullptr;
  auto out = std::make_shared<draw::OwnColours>();
  out->legend = legend_of(kept->look);
  out->of = [kept](std::size_t position) { return colour_of(kept->look.of(position).fill); };
  return out;
}

}  // namespace pipeloom::gui
