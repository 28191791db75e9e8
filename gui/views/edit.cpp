// Editing the schedule: the queue around the selected op as a strip of cells, a button for every operation, the effect of the edits, and
// saving.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

/// Entries on either side of the selected one.
constexpr std::size_t kAround = 12;

struct Cell {
  std::string text;
  Op op;
  std::size_t position = 0;
};

/// The strip, made anew when the queues or the selection change: finding an op takes a walk along its queue.
struct Strip {
  std::uint64_t revision = 0;
  std::optional<std::pair<Rank, Op>> selected;
  Rank rank;
  std::size_t chosen = 0;  ///< of `cells`
  std::vector<Cell> cells;
};

std::string text_of(std::span<const Op> queue, const QueueEntry& entry) {
  std::string text;
  for (std::size_t i = entry.first; i < entry.last; ++i)
    text += (text.empty() ? "" : "+") + to_text(queue[i].with_joined(false));
  return text;
}

Strip make_strip(const ScheduleEditor& editor, Rank rank, Op op) {
  Strip out;
  out.rank = rank;
  const QueueEdits& queues = editor.queues();
  const auto at = queues.find(rank, op);
  if (!at) return out;
  const auto queue = queues.queue(rank);
  const std::size_t first = at->position - std::min(at->position, kAround);
  auto entry = queues.entry_at(rank, first);
  while (entry && entry->position <= at->position + kAround) {
    if (entry->position == at->position) out.chosen = out.cells.size();
    out.cells.push_back({text_of(queue, *entry), queue[entry->first].with_joined(false), entry->position});
    QueueEntry next{entry->position + 1, entry->last, entry->last + 1};
    while (next.last < queue.size() && queue[next.last - 1].joined()) ++next.last;
    entry = next.first < queue.size() ? std::optional(next) : std::nullopt;
  }
  return out;
}

const Strip& strip_of(Ui& ui, const ScheduleEditor& editor) {
  static Strip kept;
  const RunModel* active = ui.session.active_run();
  const bool edited = active != nullptr && editor.shown() == active->id;
  const auto selected = edited ? ScheduleEditor::find_selected(ui.session) : std::nullopt;
  if (kept.revision == editor.revision() && kept.selected == selected) return kept;
  kept = selected ? make_strip(editor, selected->first, selected->second) : Strip{};
  kept.revision = editor.revision();
  kept.selected = selected;
  return kept;
}

/// Selects an op by name in the picture, which may be of older queues, and may not reach it.
void select_named(Ui& ui, Rank rank, Op op) {
  const RunModel* run = ui.session.active_run();
  if (run == nullptr || rank.value() >= run->ranks()) return;
  const auto queue = run->schedule->queue(rank);
  const auto found = std::find(queue.begin(), queue.end(), op);
  if (found == queue.end()) return select_waiting(ui.session, op);
  const auto index = run->schedule->queue_begin(rank) + static_cast<std::size_t>(found - queue.begin());
  select_op(ui.session, {run->id, index}, Reveal::Yes);
}

void draw_strip(Ui& ui, const Strip& strip) {
  if (strip.cells.empty()) return muted_text(ui, "Select an op of the edited run: its queue is shown here.");
  text_item(fmt::format("rank {}", strip.rank.value()));
  const float right = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
  for (std::size_t i = 0; i < strip.cells.size(); ++i) {
    const Cell& cell = strip.cells[i];
    const float width = ImGui::CalcTextSize(cell.text.c_str()).x + 2 * ImGui::GetStyle().FramePadding.x;
    ImGui::SameLine();
    if (ImGui::GetCursorScreenPos().x + width > right) ImGui::NewLine();
    const bool chosen = i == strip.chosen;
    if (chosen) ImGui::PushStyleColor(ImGuiCol_Button, ui.skin.accent);
    ImGui::PushID(static_cast<int>(i));
    if (small_button(ui, fmt::format("edit/cell/{}", cell.position), cell.text.c_str()))
      select_named(ui, strip.rank, cell.op);
    ImGui::PopID();
    if (chosen) ImGui::PopStyleColor();
  }
}

struct EditButton {
  const char* id;
  const char* label;
  const char* command;
  const char* help;
};

void draw_buttons(Ui& ui, std::initializer_list<EditButton> buttons) {
  bool first = true;
  for (const EditButton& one : buttons) {
    if (!first) ImGui::SameLine();
    first = false;
    if (button(ui, one.id, one.label, one.help)) run_command(ui.session, one.command);
  }
}

/// W that were taken out go back before the selected entry.
void draw_removed(Ui& ui, const ScheduleEditor& editor, const Strip& strip) {
  constexpr std::size_t kShown = 6;
  const auto removed = editor.queues().removed_weights();
  for (std::size_t i = 0; i < std::min(removed.size(), kShown); ++i) {
    const auto& [rank, op] = removed[i];
    const bool here = !strip.cells.empty() && strip.rank == rank;
    const std::string label = fmt::format("Put {} {} on rank {}", to_text(op),
                                          here ? "in front of the selection" : "at the end", rank.value());
    if (!button(ui, fmt::format("edit/insert/{}", i), label.c_str(), "Puts the weight gradient back"))
      continue;
    const std::size_t position =
        here ? strip.cells[strip.chosen].position : editor.queues().num_entries(rank);
    run_command(ui.session, "insert-weight", fmt::format("{}/{} {}", rank.value(), to_text(op), position));
  }
}

void table_row(Ui& ui, const char* id, const char* name, const std::string& before, const std::string& now,
               const std::string& difference) {
  ImGui::TableNextRow();
  for (const char* text : {name, before.c_str(), now.c_str(), difference.c_str()}) {
    ImGui::TableNextColumn();
    text_item(text);
  }
  note_item(ui, id);
}

std::string signed_duration(Ticks ticks, TimeUnit unit) {
  if (ticks == 0) return "0";
  return (ticks > 0 ? "+" : "-") + duration_text(ticks > 0 ? ticks : -ticks, unit);
}

void draw_difference(Ui& ui, const ScheduleEditor& editor) {
  const OpenRun* shown = ui.session.find_run(editor.shown());
  if (shown == nullptr || !shown->run->metrics || !editor.before().metrics) return;
  const Metrics& before = *editor.before().metrics;
  const Metrics& now = *shown->run->metrics;
  const TimeUnit unit = shown->run->timeline.unit;
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_BordersInnerV;
  if (!ImGui::BeginTable("difference", 4, kFlags)) return;
  for (const char* title : {"", "before", "now", "difference"}) ImGui::TableSetupColumn(title);
  table_heads();
  table_row(ui, "edit/makespan", "makespan", duration_text(before.makespan, unit),
            duration_text(now.makespan, unit), signed_duration(now.makespan - before.makespan, unit));
  table_row(ui, "edit/bubble", "bubble ratio", fmt::format("{:.4f}", before.bubble_ratio),
            fmt::format("{:.4f}", now.bubble_ratio),
            fmt::format("{:+.4f}", now.bubble_ratio - before.bubble_ratio));
  const Bytes old_peak = before.ranks[before.peak_rank.at()].memory.peak_bytes;
  const Bytes peak = now.ranks[now.peak_rank.at()].memory.peak_bytes;
  table_row(ui, "edit/peak", "peak bytes", std::to_string(old_peak), std::to_string(peak),
            fmt::format("{:+}", peak - old_peak));
  ImGui::EndTable();
}

void draw_verdict(Ui& ui, const ScheduleEditor& editor) {
  const EditOutcome& outcome = editor.outcome();
  if (editor.pending()) return muted_text(ui, "simulating ...");
  if (outcome.diagnostics.empty() && outcome.problem.empty()) return;
  constexpr std::size_t kShown = 3;
  if (!outcome.problem.empty()) problem_text(ui, outcome.problem);
  for (std::size_t i = 0; i < std::min(outcome.diagnostics.size(), kShown); ++i)
    problem_text(ui, outcome.diagnostics[i].message);
  if (outcome.diagnostics.size() > kShown)
    muted_text(ui, fmt::format("and {} more, in Problems", outcome.diagnostics.size() - kShown));
}

void draw_save(Ui& ui) {
  static std::string path = "edited.json";
  ImGui::SetNextItemWidth(220 * ui.skin.scale);
  (void)live_text_field(ui, "edit/path", path, "file.json or file.csv");
  ImGui::SameLine();
  const auto how = write_button(
      ui, "edit/save", "Save", path, ui.session.part<ScheduleEditor>().saved_to(path),
      "Writes the queues: .json is Pipeloom's schedule format, .csv PyTorch's compute_only form");
  if (how)
    run_command(ui.session, "save-schedule", path + std::string(*how == io::Overwrite::Yes ? kForce : ""));
}

}  // namespace

void edit(Ui& ui) {
  auto& editor = ui.session.part<ScheduleEditor>();
  if (!editor.editing()) {
    wrapped_text(
        "Drag ops within their row, swap neighbours, move weight gradients, overlap or split entries: every "
        "edit is "
        "checked and simulated at once.");
    draw_buttons(ui, {{"edit/start", "Edit the schedule", "edit-mode", "Keys: e"}});
    return;
  }
  const std::size_t edits = editor.queues().num_edits();
  const std::string last = edits == 0 ? "" : ", the last: " + editor.queues().last_edit();
  text_item(fmt::format("{} edit{}{}", edits, edits == 1 ? "" : "s", last));
  draw_buttons(ui, {{"edit/undo", "Undo", "undo-edit", "Takes the last edit back (Ctrl+Z)"},
                    {"edit/redo", "Redo", "redo-edit", "Does it again (Ctrl+Shift+Z)"},
                    {"edit/discard", "Discard", "discard-edits", "Shows the schedule from before the edits"},
                    {"edit/stop", "Done", "edit-mode", "Stops editing; the edited run stays"}});
  if (!editor.editing()) return;  // one of them ended it
  const Strip& strip = strip_of(ui, editor);
  draw_strip(ui, strip);
  draw_buttons(
      ui, {{"edit/earlier", "Earlier", "move-op-earlier", "One place to the front of the queue (Alt+Up)"},
           {"edit/later", "Later", "move-op-later", "One place to its end (Alt+Down)"},
           {"edit/join", "Join next", "join-next", "Runs overlapped with the entry behind it"},
           {"edit/split", "Split", "split-group", "Its group's ops run one after another"},
           {"edit/delete", "Delete W", "delete-weight", "Takes a weight gradient out, to be put elsewhere"}});
  draw_removed(ui, editor, strip);
  draw_verdict(ui, editor);
  draw_difference(ui, editor);
  draw_save(ui);
}

}  // namespace pipeloom::gui::views
