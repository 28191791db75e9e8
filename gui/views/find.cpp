// The search for the best schedule: the question on the left, time against memory of the results on the right. A click on a point shows it.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/draw/sweep_map_draw.hpp"
#include "gui/model/commands/context_menu.hpp"
#include "gui/model/find/find_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "study/plan/shown/plan_facts.hpp"

namespace pipeloom::gui::views {
namespace {

// Pixels at scale 1.
constexpr float kQuestionWidth = 430;
constexpr float kWidestQuestion = 520;
constexpr float kLeastPlot = 260;
constexpr float kDotRadius = 3.5F;
constexpr float kReach = 9;

// The question -----------------------------------------------------------------------------------------------------------------

/// Puts the next item on the same line where there is room for it.
void next_of_line(const Ui& ui, float width) {
  const float right = ImGui::GetItemRectMax().x + ImGui::GetStyle().ItemSpacing.x;
  const float end = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
  if (right + width * ui.skin.scale <= end) ImGui::SameLine();
}

/// Draws a label, and sets the width of the field after it.
void label(const Ui& ui, const char* word, float field) {
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
  text_item(word);
  ImGui::PopStyleColor();
  ImGui::SameLine(0, 6 * ui.skin.scale);
  ImGui::SetNextItemWidth(field * ui.skin.scale);
}

void set_find(Ui& ui, std::string_view key, std::string_view value) {
  run_command(ui.session, "set-find", fmt::format("{} {}", key, value));
}

/// The objectives that the configuration has numbers for.
void draw_objective(Ui& ui, const FindModel& model) {
  const Assignments& workload = ui.session.part<ConfigModel>().assignments();
  std::vector<study::PlanObjective> offered;
  std::vector<std::string> names;
  int chosen = -1;
  for (const study::PlanObjective one : study::kPlanObjectives) {
    if (!lack_of(one, workload).empty()) continue;
    if (one == model.question().objective) chosen = static_cast<int>(offered.size());
    offered.push_back(one);
    names.emplace_back(word_of(one).label);
  }
  label(ui, "Best by", 112);
  if (choice(ui, "find/objective", names, chosen, word_of(model.question().objective).help))
    set_find(ui, "objective", study::name_of(offered[static_cast<std::size_t>(chosen)]));
}

void draw_limit(Ui& ui) {
  std::string limit = ui.session.part<ConfigModel>().value("memory.limit_bytes");
  label(ui, "limit", 72);
  if (text_field(ui, "find/limit", limit, "none",
                 "What a rank may hold: 80GB, or where no bytes are given a number of activations. It is the "
                 "limit of the parameters."))
    set_find(ui, "limit", limit);
}

void draw_budget(Ui& ui, const FindModel& model) {
  std::string seconds = fmt::format("{:g}", model.question().seconds);
  label(ui, "search", 38);
  if (text_field(
          ui, "find/budget", seconds, "2",
          "Seconds that searches of orders may take, about. Simulating what is registered comes on top."))
    set_find(ui, "budget", seconds);
  ImGui::SameLine(0, 4 * ui.skin.scale);
  text_item("s");
}

void draw_target(Ui& ui, const FindModel& model) {
  std::vector<std::string> names = {std::string(kAnyTarget)};
  for (const study::Target& target : study::targets()) names.emplace_back(target.name);
  const auto* const target = model.question().target;
  const std::string now(target == nullptr ? kAnyTarget : target->name);
  int chosen = static_cast<int>(std::ranges::find(names, now) - names.begin());
  label(ui, "Must run in", 80);
  if (choice(ui, "find/target", names, chosen, "Only what this program can run"))
    set_find(ui, "target", names[static_cast<std::size_t>(chosen)]);
}

void draw_vary(Ui& ui, FindModel& model) {
  const Assignments& workload = ui.session.part<ConfigModel>().assignments();
  const study::VarySet vary = model.vary(ui.session);
  muted_text(ui, "May vary");
  for (const study::Vary one : kVaryWords) {
    const FindWord& word = word_of(one);
    const std::string name(word.label);
    next_of_line(ui, ImGui::CalcTextSize(name.c_str()).x / ui.skin.scale + 16);
    const std::string lack = lack_of(one, workload);
    ImGui::BeginDisabled(!lack.empty());
    const std::string help(word.help);
    if (chip(ui, "find/vary/" + std::string(study::name_of(one)), name.c_str(), vary.has(one) && lack.empty(),
             lack.empty() ? help : help + ": " + lack))
      model.flip(ui.session, one);
    ImGui::EndDisabled();
  }
}

// Progress and results ---------------------------------------------------------------------------------------------------------

/// Draws the buttons for the best row.
void draw_winner_buttons(Ui& ui, const FindModel& model) {
  if (model.plan() == nullptr || model.plan()->candidates.empty()) return;
  const FindRow& winner = model.rows().front();
  const bool searched = winner.candidate->searched();
  ImGui::SameLine();
  if (button(ui, "find/show", searched ? "Stack the best" : "Take the best",
             searched ? "An order of its own: it stands below the run, where it can be edited and saved"
                      : "Its configuration is under edit then; the run before is kept as a snapshot"))
    run_command(ui.session, "show-found", winner.row.name);
  ImGui::SameLine();
  if (button(ui, "find/rows", "All rows", "The table of schedules, with what was found"))
    ui.session.show_panel("schedules");
}

void draw_action(Ui& ui, const FindModel& model) {
  if (model.running()) {
    if (button(ui, "find/stop", "Stop", "The best so far is kept")) run_command(ui.session, "find-stop");
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    text_item(fitted(model.progress_text(), ImGui::GetContentRegionAvail().x));
    note_item(ui, "find/progress");
    return;
  }
  if (button(ui, "find/start", model.plan() == nullptr ? "Find" : "Find again",
             "Simulates everything that may vary, searches orders within the seconds given, and ranks what "
             "fits"))
    run_command(ui.session, "find");
  draw_winner_buttons(ui, model);
}

void draw_winner(Ui& ui, const FindModel& model) {
  if (!model.problem().empty()) problem_text(ui, model.problem());
  if (model.plan() == nullptr) return;
  if (model.stale()) muted_text(ui, "The parameters have changed since; search again for those of now.");
  if (!model.plan()->candidates.empty()) {
    wrapped_text(winner_text(*model.plan(), model.rows().front()));
    note_item(ui, "find/winner");
  }
  for (const std::string& line : study::fact_lines(*model.plan())) muted_text(ui, line);
  muted_text(ui, model.counts_text());
  note_item(ui, "find/counts");
  for (const study::PlanAdvice& advice : model.plan()->advice) muted_text(ui, advice.text);
}

// Time against memory ----------------------------------------------------------------------------------------------------------

/// The plot on screen; places are shares of it.
struct FindPlot {
  ImVec2 at;
  ImVec2 size;
  [[nodiscard]] ImVec2 point(double x, double y) const {
    return {at.x + static_cast<float>(x) * size.x, at.y + static_cast<float>(1 - y) * size.y};
  }
  [[nodiscard]] ImVec2 point(const FindDot& dot) const { return point(dot.x, dot.y); }
};

class PictureDraw {
 public:
  PictureDraw(Ui& ui, const FindModel& model, const FindPlot& plot)
      : ui_(ui), model_(model), picture_(model.picture()), plot_(plot), draw_(*ImGui::GetWindowDrawList()) {}

  void draw() {
    draw_scales();
    draw_limit_line();
    draw_front_line();
    for (const FindDot& dot : picture_.dots()) draw_dot(dot);
    draw_now();
    for (const FindDot& dot : picture_.front()) draw_name(dot);
  }

 private:
  void draw_scales() {
    draw_small_text(ui_, ImVec2(plot_.at.x, plot_.at.y - line_height()), ui_.skin.muted, picture_.up_title());
    const auto up = static_cast<std::size_t>(std::max(plot_.size.y / (40 * ui_.skin.scale), 2.0F));
    for (const sweep::AxisMark& mark : picture_.up().marks(up)) {
      const ImVec2 at = plot_.point(0, picture_.up().place(mark.value));
      const ImVec2 size = small_text_size(ui_, mark.text);
      draw_.AddLine(at, ImVec2(plot_.at.x + plot_.size.x, at.y), ui_.skin.grid);
      draw_small_text(ui_, ImVec2(at.x - size.x - 6 * ui_.skin.scale, at.y - size.y / 2), ui_.skin.muted,
                      mark.text);
    }
    const std::string& title = picture_.across_title();
    const float title_left = plot_.at.x + plot_.size.x - small_text_size(ui_, title).x;
    const float below = plot_.at.y + plot_.size.y + 3 * ui_.skin.scale;
    const auto across = static_cast<std::size_t>(std::max(plot_.size.x / (130 * ui_.skin.scale), 2.0F));
    for (const sweep::AxisMark& mark : picture_.across().marks(across)) {
      const ImVec2 at = plot_.point(picture_.across().place(mark.value), 0);
      draw_.AddLine(ImVec2(at.x, plot_.at.y), at, ui_.skin.grid);
      const float width = small_text_size(ui_, mark.text).x;
      if (at.x + width / 2 > title_left - 8 * ui_.skin.scale) continue;
      draw_small_text(ui_, ImVec2(at.x - width / 2, below), ui_.skin.muted, mark.text);
    }
    draw_small_text(ui_, ImVec2(title_left, below), ui_.skin.muted, title);
  }

  /// Dashed, in the colour that the limit has in the chart.
  void draw_limit_line() {
    if (!picture_.limit()) return;
    const float x = plot_.point(*picture_.limit(), 0).x;
    const float dash = 4 * ui_.skin.scale;
    for (float y = plot_.at.y; y < plot_.at.y + plot_.size.y; y += 2 * dash)
      draw_.AddLine(ImVec2(x, y), ImVec2(x, std::min(y + dash, plot_.at.y + plot_.size.y)),
                    ui_.skin.memory_limit);
    const std::string word = "limit";
    const float width = small_text_size(ui_, word).x;
    // Beside the title of the other axis, which is at the left of the same line.
    const float title = plot_.at.x + small_text_size(ui_, picture_.up_title()).x + 8 * ui_.skin.scale;
    const float left = std::max(std::min(x - width / 2, plot_.at.x + plot_.size.x - width), title);
    draw_small_text(ui_, ImVec2(left, plot_.at.y - line_height()), ui_.skin.problem, word);
    take({x, plot_.at.y}, {x, plot_.at.y + plot_.size.y});
  }

  void draw_front_line() {
    for (std::size_t i = 1; i < picture_.front().size(); ++i) {
      const ImVec2 before = plot_.point(picture_.front()[i - 1]);
      const ImVec2 at = plot_.point(picture_.front()[i]);
      // The fastest holds most: the line goes up where less memory is left.
      const ImVec2 corner(before.x, at.y);
      draw_.AddLine(before, corner, ui_.skin.accent);
      draw_.AddLine(corner, at, ui_.skin.accent);
      take({std::min(at.x, corner.x), corner.y}, {std::max(at.x, corner.x), corner.y});
      take({corner.x, std::min(before.y, corner.y)}, {corner.x, std::max(before.y, corner.y)});
    }
  }

  /// Full where it fits, an outline in red where it does not.
  void draw_dot(const FindDot& dot) {
    const FindRow& row = model_.rows()[dot.row];
    const ImVec2 at = plot_.point(dot);
    const float r = kDotRadius * ui_.skin.scale;
    if (!row.row.fits())
      draw_.AddCircle(at, r, ui_.skin.problem, 12, ui_.skin.scale);
    else
      draw_.AddCircleFilled(at, row.front ? 1.3F * r : r, row.front ? ui_.skin.accent : ui_.skin.muted, 12);
    taken_.push_back({ImVec2(at.x - r, at.y - r), ImVec2(at.x + r, at.y + r)});
    ui_.items.add("find/dot/" + row.row.name, {at.x - r, at.y - r, at.x + r, at.y + r});
  }

  void draw_now() {
    if (!picture_.now()) return;
    const ImVec2 at = plot_.point(*picture_.now());
    draw_.AddCircle(at, 7 * ui_.skin.scale, ui_.skin.text, 18, 1.5F * ui_.skin.scale);
    draw_text_near(at, "now", ui_.skin.text);
  }

  void draw_name(const FindDot& dot) {
    draw_text_near(plot_.point(dot), model_.rows()[dot.row].row.name, ui_.skin.text);
  }

  /// To the right or to the left, above or below, where it is free; else nowhere: the pointer finds the name.
  void draw_text_near(ImVec2 at, const std::string& text, Rgba colour) {
    const ImVec2 size = small_text_size(ui_, text);
    const float away = 9 * ui_.skin.scale;
    const ImVec2 places[] = {ImVec2(at.x + away, at.y - size.y / 2),
                             ImVec2(at.x - away - size.x, at.y - size.y / 2),
                             ImVec2(at.x + away / 2, at.y - away - size.y + 2),
                             ImVec2(at.x + away / 2, at.y + away / 2),
                             ImVec2(at.x - away / 2 - size.x, at.y - away - size.y + 2),
                             ImVec2(at.x - away / 2 - size.x, at.y + away / 2)};
    for (const ImVec2 place : places) {
      const Taken box{place, ImVec2(place.x + size.x, place.y + size.y)};
      if (!is_free(box)) continue;
      taken_.push_back(box);
      return draw_small_text(ui_, place, colour, text);
    }
  }

  struct Taken {
    ImVec2 from;
    ImVec2 to;
  };
  /// Keeps names off this line.
  void take(ImVec2 from, ImVec2 to) {
    taken_.push_back({ImVec2(from.x - 1, from.y - 1), ImVec2(to.x + 1, to.y + 1)});
  }
  [[nodiscard]] bool is_free(const Taken& box) const {
    if (box.from.x < plot_.at.x || box.to.x > plot_.at.x + plot_.size.x || box.from.y < plot_.at.y ||
        box.to.y > plot_.at.y + plot_.size.y)
      return false;
    return std::ranges::none_of(taken_, [&](const Taken& other) {
      return box.from.x < other.to.x && other.from.x < box.to.x && box.from.y < other.to.y &&
             other.from.y < box.to.y;
    });
  }
  [[nodiscard]] static float line_height() { return ImGui::GetTextLineHeight(); }

  Ui& ui_;
  const FindModel& model_;
  const FindPicture& picture_;
  const FindPlot& plot_;
  ImDrawList& draw_;
  std::vector<Taken> taken_;
};

/// Says what a point is, and takes a click on it.
void take_pointer(Ui& ui, const FindModel& model, const FindPlot& plot) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const double reach = kReach * static_cast<double>(ui.skin.scale);
  const auto dot =
      model.picture().hit(static_cast<double>((mouse.x - plot.at.x) / plot.size.x),
                          static_cast<double>(1 - (mouse.y - plot.at.y) / plot.size.y),
                          reach / static_cast<double>(plot.size.x), reach / static_cast<double>(plot.size.y));
  if (!dot) return;
  const FindRow& row = model.rows()[dot->row];
  const ImVec2 at = plot.point(*dot);
  ImGui::GetWindowDrawList()->AddCircle(at, kReach * ui.skin.scale, ui.skin.accent, 18, 2 * ui.skin.scale);
  const std::string room = row.row.fits() ? "" : "\nOver the limit by " + row.row.headroom_text.substr(1);
  const float r = kReach * ui.skin.scale;
  explain_place(ImVec2(at.x - r, at.y - r), ImVec2(at.x + r, at.y + r),
                winner_text(*model.plan(), row) + room + "\nClick: show it");
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Left)) run_command(ui.session, "show-found", row.row.name);
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Right))
    ui.session.part<ContextMenu>().open_schedule(row.row.name);
}

void draw_picture(Ui& ui, const FindModel& model) {
  if (model.picture().empty()) return;
  float left = 0;
  for (const sweep::AxisMark& mark : model.picture().up().marks(6))
    left = std::max(left, small_text_size(ui, mark.text).x);
  left += 10 * ui.skin.scale;
  const float line = ImGui::GetTextLineHeight();
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const FindPlot plot{{start.x + left, start.y + line},
                      {std::max(room.x - left - 8 * ui.skin.scale, 20.0F),
                       std::max(room.y - 2 * line - 6 * ui.skin.scale, 20.0F)}};
  ImGui::SetCursorScreenPos(plot.at);
  ImGui::InvisibleButton("plot", plot.size);
  note_item(ui, "find/plot");
  const bool hovered = ImGui::IsItemHovered();
  PictureDraw(ui, model, plot).draw();
  if (hovered) take_pointer(ui, model, plot);
}

void draw_question(Ui& ui, FindModel& model) {
  draw_objective(ui, model);
  next_of_line(ui, 112);
  draw_limit(ui);
  next_of_line(ui, 106);
  draw_budget(ui, model);
  next_of_line(ui, 106);
  draw_target(ui, model);
  draw_vary(ui, model);
  draw_action(ui, model);
  draw_winner(ui, model);
}

}  // namespace

void find(Ui& ui) {
  auto& model = ui.session.part<FindModel>();
  const float room = ImGui::GetContentRegionAvail().x;
  const bool beside = room >= (kQuestionWidth + kLeastPlot) * ui.skin.scale;
  const float share =
      std::clamp(0.5F * room, kQuestionWidth * ui.skin.scale, kWidestQuestion * ui.skin.scale);
  const float width = beside && !model.picture().empty() ? share : 0;
  ImGui::BeginChild("question", ImVec2(width, 0));
  draw_question(ui, model);
  if (!beside) draw_picture(ui, model);
  ImGui::EndChild();
  if (!beside) return;
  ImGui::SameLine();
  ImGui::BeginChild("picture", ImVec2(0, 0));
  draw_picture(ui, model);
  ImGui::EndChild();
}

}  // namespace pipeloom::gui::views
