// Commands that change how the runs are drawn.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui::commands {
namespace {

/// Heights of a rank's work row, at scale 1.
constexpr double kLowest = 2;
constexpr double kTallest = 120;
constexpr double kTaller = 1.25;

[[noreturn]] void refuse(const char* command, std::string_view text, const std::string& allowed) {
  throw InputError(Where{command}, "found '" + shortened(text, 40) + "'; allowed is " + allowed);
}

OpKind kind_in(const char* command, std::string_view text) {
  for (const OpKind kind : kAllOpKinds)
    if (text.size() == 1 && text[0] == letter_of(kind)) return kind;
  refuse(command, text, "F, B, I, W, R, O, L, S or T");
}

int ranks_on_screen(const Session& session) {
  int most = 0;
  for (const OpenRun& open : session.runs) most = std::max(most, open.run->ranks());
  return most;
}

/// The rank that is named, else the selected one.
int rank_in(const Session& session, const char* command, std::string_view text) {
  const int ranks = ranks_on_screen(session);
  if (text.empty()) {
    if (const auto rank = selected_rank(session)) return rank->value();
    throw InputError(Where{command}, "nothing is selected; name a rank, or select an op");
  }
  const auto rank = count_in(text);
  if (!rank || *rank >= ranks) refuse(command, text, "a rank below " + std::to_string(ranks));
  return *rank;
}

void toggle(std::set<int>& set, int rank) {
  if (set.erase(rank) == 0) set.insert(rank);
}

/// "0-3,7" as shown[rank].
std::vector<bool> parse_ranks(std::string_view text, int ranks) {
  const std::string allowed = "ranks and stretches of them such as 0-3,7, all below " + std::to_string(ranks);
  std::vector<bool> shown(static_cast<std::size_t>(ranks), false);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    const std::size_t dash = word.find('-');
    const auto first = count_in(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : count_in(word.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= ranks) refuse("filter-ranks", text, allowed);
    for (int rank = *first; rank <= *last; ++rank) shown[static_cast<std::size_t>(rank)] = true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return shown;
}

/// The height of a row now, at scale 1.
double height_now(Session& session) {
  if (session.view.row_height > 0) return session.view.row_height;
  const ChartLayout& layout = session.part<ChartPart>().layout;
  for (const ChartRow& row : layout.rows)
    if (!row.collapsed) return row.lane(ChartLane::Work).height / layout.scale;
  return kLowest;
}

void set_height(Session& session, double height) {
  session.view.row_height = std::clamp(height, kLowest, kTallest);
}

}  // namespace

void colour(Session& session, std::string_view text) {
  GanttColour& now = session.view.colour;
  if (text.empty()) {
    now = kAllGanttColours[(static_cast<std::size_t>(now) + 1) % std::size(kAllGanttColours)];
    session.say("ops are coloured by " + std::string(name_of(now)));
    return;
  }
  std::vector<std::string> names;
  for (const GanttColour one : kAllGanttColours) {
    names.emplace_back(name_of(one));
    if (text != names.back()) continue;
    now = one;
    return;
  }
  throw InputError::unknown_name(Where{"colour"}, "colour", text, names);
}

void hide_kind(Session& session, std::string_view text) {
  session.view.hidden_kinds ^= 1U << index_of(kind_in("hide-kind", text));
}
void select_kind(Session& session, std::string_view text) {
  session.selection.kind = kind_in("select-kind", text);
}

void pin_rank(Session& session, std::string_view text) {
  toggle(session.view.pinned, rank_in(session, "pin-rank", text));
}
void collapse_rank(Session& session, std::string_view text) {
  toggle(session.view.collapsed, rank_in(session, "collapse-rank", text));
}

namespace {

/// Takes a rank past the next one that is shown, above it or below.
void move_past(Session& session, const char* command, std::string_view text, int by) {
  const int rank = rank_in(session, command, text);
  const int ranks = ranks_on_screen(session);
  const std::vector<int> order = session.view.order.of(ranks);
  int place = static_cast<int>(std::ranges::find(order, rank) - order.begin()) + by;
  while (place >= 0 && place < ranks && session.view.hidden.contains(order[static_cast<std::size_t>(place)]))
    place += by;
  if (place >= 0 && place < ranks) session.view.order.move(rank, place, ranks);
}

}  // namespace

void move_rank(Session& session, std::string_view text) {
  const std::size_t gap = text.find(' ');
  const int ranks = ranks_on_screen(session);
  const auto rank = count_in(text.substr(0, gap));
  const auto place = gap == std::string_view::npos ? std::nullopt : count_in(text.substr(gap + 1));
  if (!rank || !place || *rank >= ranks || *place >= ranks)
    refuse("move-rank", text,
           "a rank and its place from the top, such as 3 0, both below " + std::to_string(ranks));
  session.view.order.move(*rank, *place, ranks);
}
void move_rank_up(Session& session, std::string_view text) {
  move_past(session, "move-rank-up", text, -1);
}
void move_rank_down(Session& session, std::string_view text) {
  move_past(session, "move-rank-down", text, 1);
}

void filter_ranks(Session& session, std::string_view text) {
  const std::vector<bool> shown = parse_ranks(text, ranks_on_screen(session));
  if (std::find(shown.begin(), shown.end(), true) == shown.end())
    refuse("filter-ranks", text, "at least one rank");
  session.view.hidden.clear();
  for (std::size_t rank = 0; rank < shown.size(); ++rank)
    if (!shown[rank]) session.view.hidden.insert(static_cast<int>(rank));
}

void show_all_ranks(Session& session, std::string_view) {
  session.view.hidden.clear();
  session.view.collapsed.clear();
  session.view.pinned.clear();
}

void taller_rows(Session& session, std::string_view) {
  set_height(session, height_now(session) * kTaller);
}
void lower_rows(Session& session, std::string_view) {
  set_height(session, height_now(session) / kTaller);
}
void row_height(Session& session, std::string_view text) {
  const auto height = count_in(text);
  if (!height) refuse("row-height", text, "a number of pixels, 0 to fit all ranks");
  session.view.row_height = *height == 0 ? 0 : std::clamp(static_cast<double>(*height), kLowest, kTallest);
}

}  // namespace pipeloom::gui::commands
