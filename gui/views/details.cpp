// The run, or the selected op or gap as a story: its name, the op that it waits for and the change that would help, the chain before it, the result of
// another duration, and the microbatches in flight at the cursor.

#include "gui/model/panels/details.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/cause_rows.hpp"
#include "gui/draw/chart_draw.hpp"
#include "gui/model/answer/answer.hpp"
#include "gui/model/answer/cursor.hpp"
#include "gui/model/answer/sensitivity.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/edit/what_if.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/memory.hpp"

namespace pipeloom::gui::views {
namespace {

void heading(const Ui& ui, const char* text) {
  ImGui::Dummy(ImVec2(0, 4 * ui.skin.scale));
  ImGui::PushFont(ui.skin.small);
  muted_text(ui, text);
  ImGui::PopFont();
}

void line_below(const Ui& ui) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddLine(at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y),
                                      ui.skin.grid);
}

/// Draws a text at the right end of the cursor's line.
void right_text(const std::string& value, Rgba colour) {
  const std::string text = with_thin_spaces(value);
  const float width = ImGui::CalcTextSize(text.c_str()).x;
  ImGui::SameLine(std::max(ImGui::GetCursorPosX(), ImGui::GetContentRegionMax().x - width));
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  text_item(text);
  ImGui::PopStyleColor();
}

/// A row of the panel: name on the left, value on the right.
void draw_row(const Ui& ui, const std::string& name, const std::string& value) {
  line_below(ui);
  text_item(name);
  right_text(value, ui.skin.muted);
}

void draw_square(const Ui& ui, Rgba colour) {
  const float side = 9 * ui.skin.scale;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float top = at.y + (ImGui::GetTextLineHeight() - side) / 2;
  ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + side, top + side), colour,
                                            2 * ui.skin.scale);
  ImGui::Dummy(ImVec2(side, ImGui::GetTextLineHeight()));
  ImGui::SameLine();
}

void draw_chain(Ui& ui, const Details& details, std::optional<OpRef>& chosen) {
  if (details.chain.empty()) return;
  heading(ui, "What it waits for");
  const RunPtr run = selected_run(ui.session);
  const ChartColours& colours = ui.session.part<ChartPart>().colours_of(ui.session, *run);
  for (std::size_t i = 0; i < details.chain.size(); ++i) {
    const ChainLine& line = details.chain[i];
    line_below(ui);
    if (!line.op) {
      muted_text(ui, line.name);
      continue;
    }
    draw_square(ui, colours.kind_fill(line.kind));
    if (selectable(ui, fmt::format("details/chain/{}", i), line.name.c_str(), false)) chosen = line.op;
    explain("Select it");
    right_text(line.value, ui.skin.muted);
  }
}

/// Ops that a click leads to; the one that held the op up is emphasised.
void draw_ops(Ui& ui, const char* title, const char* id, const std::vector<DetailLine>& lines,
              std::optional<OpRef>& chosen) {
  if (lines.empty()) return;
  heading(ui, title);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const DetailLine& line = lines[i];
    line_below(ui);
    if (selectable(ui, fmt::format("{}/{}", id, i), line.name.c_str(), false)) chosen = line.op;
    explain(line.strong ? line.value + ". Nothing else came later." : line.value);
    const std::string what = line.value.substr(0, line.value.find(','));
    right_text(what, line.strong ? ui.skin.accent : ui.skin.muted);
  }
}

/// The op whose duration the slider changes: the selected one, or the one that a gap waits for.
std::optional<OpRef> subject(const Session& session, const Details& details) {
  if (session.selection.op) return session.selection.op;
  return details.chain.empty() ? std::nullopt : details.chain.front().op;
}

/// A box for the duration, in the run's unit or in percent of the one that holds.
void draw_what_if_box(Ui& ui, const OpRef& op, Ticks now, TimeUnit unit) {
  auto& what_if = ui.session.part<WhatIf>();
  const std::string shown = duration_text(now, unit);
  const std::size_t blank = shown.rfind(' ');
  std::string text = shown.substr(0, blank);
  const FieldLook look = {text, blank == std::string::npos ? "" : shown.substr(blank + 1)};
  ImGui::SetNextItemWidth(96 * ui.skin.scale);
  if (!value_field(ui, "details/what-if-value", text, look, "A time, or a share: 90%, -10%") ||
      text == look.shown)
    return;
  const std::optional<Ticks> typed = typed_duration(text, now, unit);
  if (!typed)
    return ui.session.say(fmt::format("found '{}'; type a time in {}, or a share such as 90% or -10%",
                                      shortened(text, 40), name_of(unit)),
                          MessageKind::Problem);
  if (!what_if.begin(ui.session, op)) return;
  what_if.change(ui.session, *typed, CostScope::StageKind);
  what_if.release(ui.session);
}

void draw_what_if_card(Ui& ui, const Details& details) {
  const auto op = subject(ui.session, details);
  const OpenRun* open = op ? ui.session.find_run(op->run) : nullptr;
  if (open == nullptr || !cost_refusal(*open->run, op->op, CostScope::StageKind).empty()) return;
  const RunModel& run = *open->run;
  auto& what_if = ui.session.part<WhatIf>();
  const double per = static_cast<double>(ticks_per(run.timeline.unit));
  const Ticks before = what_if.held() ? what_if.shown(ui.session).old_duration
                                      : run.timeline.end[op->op] - run.timeline.start[op->op];
  const Ticks now = what_if.held() ? what_if.shown(ui.session).duration : before;
  const double value = static_cast<double>(now) / per;
  const double most = 2 * std::max(static_cast<double>(before) / per, 1e-3);
  ImGui::Dummy(ImVec2(0, 4 * ui.skin.scale));
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 6 * ui.skin.scale);
  const float height = 2.9F * ImGui::GetFrameHeightWithSpacing() + ImGui::GetStyle().WindowPadding.y;
  ImGui::BeginChild("what if", ImVec2(0, height), true, ImGuiWindowFlags_NoScrollbar);
  text_item(fmt::format("What if {} took", scope_text(run, op->op, CostScope::StageKind)));
  const bool held = what_if.held();
  if (!held) draw_what_if_box(ui, *op, now, run.timeline.unit);
  if (held) ImGui::Dummy(ImVec2(96 * ui.skin.scale, ImGui::GetFrameHeight()));
  ImGui::SameLine();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + 6 * ui.skin.scale);
  ImGui::SetNextItemWidth(-1);
  double share = value / most;
  const bool moved =
      knob(ui, "details/what-if", share,
           "Another time for this kind on this stage; the picture follows, Ctrl+Z brings yours back");
  const bool active = ImGui::IsItemActive();
  const bool ended = ImGui::IsItemDeactivated();
  if (moved && (what_if.held() || what_if.begin(ui.session, *op)))
    what_if.stretch(ui.session, share * most * per - static_cast<double>(before),
                    most * per / std::max(1.0F, ImGui::GetContentRegionAvail().x), CostScope::StageKind);
  if (ended && !active) what_if.release(ui.session);
  const Ticks step = run.metrics && run.metrics->step_time > 0 ? run.metrics->step_time : run.span().length();
  muted_text(ui, fmt::format("{}, step {}; type or drag another", duration_text(now, run.timeline.unit),
                             duration_text(step, run.timeline.unit)));
  ImGui::EndChild();
  note_item(ui, "details/what-if-card");
  ImGui::PopStyleVar();
}

void draw_sensitivity(Ui& ui) {
  const auto& found = ui.session.part<SensitivityModel>().found();
  if (found.empty()) return;
  heading(ui, "1 % faster shortens the step by");
  for (const Sensitivity& one : found) draw_row(ui, name_of(one.what), percent_text(one.gain));
  note_item(ui, "details/sensitivity");
}

void draw_in_flight(Ui& ui) {
  const auto& cursor = ui.session.part<Cursor>();
  const RunModel* run = ui.session.active_run();
  const auto now = cursor.time(ui.session);
  const auto rank = selected_rank(ui.session);
  if (run == nullptr || !now || !rank || cursor.in_flight() == nullptr || rank->value() >= run->ranks())
    return;
  heading(ui, fmt::format("In flight at {}", duration_text(*now, run->timeline.unit)).c_str());
  draw_row(ui, fmt::format("microbatches on rank {}", rank->value()),
           std::to_string(cursor.in_flight()->at(*rank, *now)));
  if (const auto held = Cursor::held(*run, *rank, *now))
    draw_row(ui, fmt::format("memory on rank {}", rank->value()), memory_cell(*run->memory, *held));
  note_item(ui, "details/in-flight");
}

/// Draws the facts that few ask for, in sentences.
void draw_rest(Ui& ui, const Details& details) {
  heading(ui, "More");
  for (const DetailLine& fact : details.facts)
    for (const char* told : {"cost", "memory", "overlapped", "would help"})
      if (fact.name == told) muted_text(ui, fmt::format("{}: {}", fact.name, fact.value));
}

/// The run's largest root causes, each with its bar.
void draw_run_causes(Ui& ui, const RunModel& run) {
  constexpr std::size_t kLargest = 3;
  const auto& model = ui.session.part<CausesModel>();
  const RunPtr of = model.run(ui.session);
  if (!of || of->id != run.id || model.roots().empty()) return;
  const std::vector<RootLine>& roots = model.roots();
  heading(ui, "Largest causes of idle time");
  for (std::size_t i = 0; i < std::min(roots.size(), kLargest); ++i)
    draw_cause_row(ui, "details/cause/", roots[i], i, roots.front().share, run.timeline.unit);
}

/// The schedule that would be better, with its gain, and the stages that hold the others up.
void draw_run_fix(Ui& ui, const RunModel& run) {
  auto& model = ui.session.part<AnswerModel>();
  if (model.run() == nullptr || model.run()->run != run.id || model.run()->hangs) return;
  const Outlook& outlook = model.outlook();
  heading(ui, "What would help");
  if (!outlook.text.empty()) {
    wrapped_text(outlook.text + (outlook.better ? "." : ""));
    note_item(ui, "details/fix");
    const bool shown = model.shows_suggestion(ui.session);
    if (outlook.better &&
        button(ui, "details/show-fix", shown ? "Take it" : "Show it",
               shown ? "It takes the place of the schedule under edit; Ctrl+Z brings that back"
                     : "It is stacked below the run"))
      run_command(ui.session, "show-suggestion");
  }
  muted_text(ui, model.run()->bottleneck);
}

/// With nothing selected: the run.
void draw_run(Ui& ui, const RunModel& run) {
  ImGui::PushFont(ui.skin.strong);
  wrapped_text(run.title);
  ImGui::PopFont();
  note_item(ui, "details/run");
  if (run.metrics && !run.hang)
    muted_text(ui, fmt::format("step {}, {} idle",
                               duration_text(run.metrics->step_time > 0 ? run.metrics->step_time
                                                                        : run.metrics->makespan,
                                             run.timeline.unit),
                               percent_text(run.metrics->bubble_ratio)));
  if (run.hang) problem_text(ui, "It hangs: Problems says who waits for whom.");
  draw_run_causes(ui, run);
  draw_run_fix(ui, run);
  ImGui::Dummy(ImVec2(0, 4 * ui.skin.scale));
  ImGui::PushFont(ui.skin.small);
  muted_text(ui, "Click an op or a gap for its story. G finds the longest gap.");
  ImGui::PopFont();
}

}  // namespace

void details(Ui& ui) {
  Session& session = ui.session;
  const Details* shown = session.part<DetailsPart>().current(session);
  if (shown == nullptr) {
    const RunModel* run = session.active_run();
    const auto waiting = run == nullptr ? std::nullopt : waiting_selection(session.selection, run->id);
    if (waiting)
      return muted_text(ui, fmt::format("{} does not run: its rank stands still before. Problems says why.",
                                        to_text(*waiting)));
    if (session.selection.op || session.selection.gap) return muted_text(ui, "finding dependencies ...");
    return run == nullptr ? muted_text(ui, "Nothing is open.") : draw_run(ui, *run);
  }
  ImGui::PushFont(ui.skin.strong);
  wrapped_text(shown->title);
  ImGui::PopFont();
  note_item(ui, "details/title");
  muted_text(ui, shown->line);
  ImGui::Dummy(ImVec2(0, 2 * ui.skin.scale));
  wrapped_text(shown->sentence);
  note_item(ui, "details/sentence");
  std::optional<OpRef> chosen;
  draw_chain(ui, *shown, chosen);
  draw_what_if_card(ui, *shown);
  draw_sensitivity(ui);
  draw_in_flight(ui);
  draw_ops(ui, "It waits for", "details/before", shown->predecessors, chosen);
  draw_ops(ui, session.selection.gap ? "Then runs" : "Waits for it", "details/after", shown->successors,
           chosen);
  draw_rest(ui, *shown);
  if (small_button(ui, "details/copy", "Copy", "Copy all of this as text"))
    session.clipboard = to_text(*shown);
  ImGui::SameLine();
  if (small_button(ui, "details/show", "Show", "Centre it; again: fit it (F)"))
    run_command(session, "focus-selection");
  // Last: a new selection destroys the details that are being drawn.
  if (chosen) select_op(session, *chosen, Reveal::Yes);
}

}  // namespace pipeloom::gui::views
