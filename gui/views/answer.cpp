// The bar over everything: how good the run is, in four numbers, and in words its limits and a better schedule.

#include "gui/model/answer/answer.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <map>
#include <string>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "sim/draw/palette.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui::views {
namespace {

// Pixels at scale 1.
constexpr float kPad = 16;
constexpr float kLabelTop = 8;
constexpr float kValueTop = 24;
constexpr float kBelowTop = 54;
constexpr float kBarHeight = 4;
constexpr float kLeastWords = 260;
/// Of 255, over numbers that do not belong to the fields.
constexpr unsigned kDimmed = 140;

/// The text after a number.
struct Note {
  std::string text;
  Rgba colour = 0;
};

/// The widths of the cells: while the same number of runs is on screen they grow with their words and do not shrink, so that no digit moves what is
/// beside it.
class CardWidths final : public Part {
 public:
  explicit CardWidths(Session&) {}

  float of(const std::string& id, float words, float scale, std::size_t runs) {
    if (scale != scale_ || runs != runs_) widths_.clear();
    scale_ = scale;
    runs_ = runs;
    float& width = widths_[id];
    return width = std::max(width, words);
  }

 private:
  float scale_ = 0;
  std::size_t runs_ = 0;
  std::map<std::string, float> widths_;
};

/// Draws cells from the left to the right.
class Bar {
 public:
  explicit Bar(Ui& ui)
      : ui_(ui),
        draw_(*ImGui::GetWindowDrawList()),
        at_(ImGui::GetCursorScreenPos()),
        size_(ImGui::GetContentRegionAvail()),
        x_(at_.x) {}

  /// Draws a cell with room for the words `below`; keeps where its number begins and how wide the cell is, so that bars below know their room.
  /// Returns true if it is clicked.
  bool cell(const char* id, const std::string& label, const std::string& value, const Note& note,
            const std::string& below, const std::string& help) {
    const float scale = ui_.skin.scale;
    const float value_width = width(ui_.skin.large, value);
    const float words =
        std::max({width(ui_.skin.small, label), width(ui_.skin.small, below),
                  value_width + (note.text.empty() ? 0 : 6 * scale + width(ui_.skin.small, note.text))});
    left_ = x_ + kPad * scale;
    inner_ = ui_.session.part<CardWidths>().of(id, words, scale, ui_.session.runs.size());
    text(ui_.skin.small, left_, kLabelTop, ui_.skin.muted, label);
    text(ui_.skin.large, left_, kValueTop, ui_.skin.text, value);
    // On the baseline of the number.
    const float drop = 0.8F * (ui_.skin.large->FontSize - ui_.skin.small->FontSize) / scale;
    text(ui_.skin.small, left_ + value_width + 6 * scale, kValueTop + drop, note.colour, note.text);
    const float right = left_ + inner_ + kPad * scale;
    ImGui::SetCursorScreenPos(ImVec2(x_, at_.y));
    const bool clicked =
        ImGui::InvisibleButton(id, ImVec2(std::max(right - x_, 1.0F), std::max(size_.y, 1.0F)));
    note_item(ui_, std::string("answer/") + id);
    explain(help);
    x_ = right;
    line(x_);
    return clicked;
  }

  void below(Rgba colour, const std::string& words) { text(ui_.skin.small, left_, kBelowTop, colour, words); }

  /// A part of the thin bar below the number, from `from` to `to` of its width.
  void strip(double from, double to, Rgba colour) {
    const float y = at_.y + kBelowTop * ui_.skin.scale + kBarHeight * ui_.skin.scale;
    const auto x = [&](double share) {
      return left_ + inner_ * static_cast<float>(std::clamp(share, 0.0, 1.0));
    };
    draw_.AddRectFilled(ImVec2(x(from), y), ImVec2(x(to), y + kBarHeight * ui_.skin.scale), colour);
  }

  [[nodiscard]] bool has_room(float pixels) const { return at_.x + size_.x - x_ >= pixels * ui_.skin.scale; }
  /// Puts the cursor where the sentences begin, in the room that is left.
  void begin_words() const {
    const float pad = kPad * ui_.skin.scale;
    ImGui::SetCursorScreenPos(ImVec2(x_ + pad, at_.y + kLabelTop * ui_.skin.scale));
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + std::max(at_.x + size_.x - x_ - 2 * pad, 1.0F));
    ImGui::BeginGroup();
  }
  static void end_words() {
    ImGui::EndGroup();
    ImGui::PopTextWrapPos();
  }
  /// Dims the cells drawn so far: they are of another run than the one that is asked for.
  void dim() const {
    draw_.AddRectFilled(at_, ImVec2(at_.x + size_.x, at_.y + size_.y - 1),
                        with_alpha(ui_.skin.panel, kDimmed));
  }
  void bottom_line() const {
    draw_.AddLine(ImVec2(at_.x, at_.y + size_.y - 1), ImVec2(at_.x + size_.x, at_.y + size_.y - 1),
                  ui_.skin.grid);
  }

 private:
  static float width(ImFont* font, const std::string& words) {
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, words.c_str(), words.c_str() + words.size()).x;
  }
  void text(ImFont* font, float x, float top, Rgba colour, const std::string& words) const {
    put_text(draw_, font, ImVec2(x, at_.y + top * ui_.skin.scale), colour, words);
  }
  void line(float x) const { draw_.AddLine(ImVec2(x, at_.y), ImVec2(x, at_.y + size_.y), ui_.skin.grid); }

  Ui& ui_;
  ImDrawList& draw_;
  ImVec2 at_;
  ImVec2 size_;
  float x_;
  float left_ = 0;
  float inner_ = 0;
};

void draw_step(Ui& ui, Bar& bar, const AnswerModel& model) {
  const RunAnswer& run = *model.run();
  Note note;
  if (const auto change = model.change())
    note = {fmt::format("{} against {}", change_text(*change), model.baseline()),
            *change < 0 ? ui.skin.good : ui.skin.muted};
  const std::string rate =
      run.tokens_per_s ? with_thin_spaces(study::rate_text(*run.tokens_per_s) + " tokens/s") : "";
  const char* const what = run.hangs ? "Deadlock at" : run.cut ? "Recorded" : "Step time";
  bar.cell("step", what, with_thin_spaces(study::time_with_unit(run.step_time, run.unit)), note, rate,
           "What one step takes: the makespan with the optimizer, or the period from one step to the next.");
  if (run.tokens_per_s) bar.below(ui.skin.muted, rate);
}

/// Names the largest cause; until the root is found, its phase.
std::string largest_text(const AnswerModel& model) {
  if (model.cause()) return "largest: " + model.cause()->text;
  const auto& phase = model.run()->largest_cause;
  return phase ? fmt::format("largest: {}", name_of(*phase)) : "nobody idles";
}

void draw_bubble(Ui& ui, Bar& bar, const AnswerModel& model) {
  const RunAnswer& run = *model.run();
  const Note note{largest_text(model), model.cause() ? ui.skin.accent : ui.skin.muted};
  std::string help = "Idle time of all ranks, as a share of ranks times step time.";
  if (const auto& cause = model.cause())
    help += fmt::format("\n{} of it, {}: {}.\nA click goes there.\n\nBy phase:", percent_text(cause->share),
                        duration_text(cause->amount, run.unit), cause->what);
  const auto theme = ui.skin.dark ? draw::Theme::Dark : draw::Theme::Light;
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    if (run.shares[i] > 0)
      help += fmt::format("\n{}: {} of it", name_of(static_cast<IdleCause>(i)), percent_text(run.shares[i]));
  if (bar.cell("bubble", "Bubble", percent_text(run.bubble_ratio), note, "", help) && model.cause())
    run_command(ui.session, "select-cause");
  double from = 0;
  for (std::size_t i = 0; i < kIdleCauses; ++i) {
    const double to = from + run.shares[i];
    if (to > from)
      bar.strip(from, to,
                legible(to_rgba(draw::idle_colour(theme, static_cast<IdleCause>(i))), ui.skin.panel));
    from = to;
  }
}

void draw_peak(Ui& ui, Bar& bar, const PeakAnswer& peak) {
  const Rgba colour = !peak.limit ? ui.skin.muted : peak.fits() ? ui.skin.good : ui.skin.problem;
  bar.cell("peak", fmt::format("Peak memory, rank {}", peak.rank.value()), peak.held_text,
           {peak.note, colour}, "",
           "Most that the rank holds at once: of ranks with limits the one that has least left, else the "
           "fullest.");
  if (!peak.limit) return;
  const double share =
      *peak.limit > 0 ? static_cast<double>(peak.held) / static_cast<double>(*peak.limit) : 1;
  bar.strip(0, 1, ui.skin.grid);
  bar.strip(0, share, colour);
}

void draw_gap(Ui& ui, Bar& bar, const RunAnswer& run) {
  bar.cell(
      "gap", "From optimal", percent_text(*run.gap),
      {*run.gap <= 0 ? "(proven)"
                     : "bound " + with_thin_spaces(study::time_with_unit(run.lower_bound, run.unit)),
       ui.skin.muted},
      "",
      "How much longer the step takes than the lower bound: no order with this placement, these costs and "
      "this memory is faster than that.");
}

void draw_outlook(Ui& ui, AnswerModel& model) {
  const Outlook& outlook = model.outlook();
  if (outlook.text.empty()) return;
  text_item(outlook.text + (outlook.better ? ":" : ""));
  note_item(ui, "answer/outlook");
  if (!outlook.better) return;
  const bool shown = model.shows_suggestion(ui.session);
  if (link(ui, "answer/show", shown ? "take it" : "show",
           shown ? "It takes the place of the schedule under edit; Ctrl+Z brings that back"
                 : "It is stacked below the run"))
    run_command(ui.session, "show-suggestion");
}

bool is_live(const Session& session) {
  return session.active < session.runs.size() && session.runs[session.active].live;
}

void draw_spare(Ui& ui, const SpareUse& spare) {
  text_item(spare.text + ":");
  note_item(ui, "answer/spare");
  if (link(ui, "answer/use", "take it",
           spare.room + ". It takes the place of the configuration under edit; Ctrl+Z brings that back"))
    run_command(ui.session, "use-spare-memory");
}

void draw_words(Ui& ui, AnswerModel& model) {
  draw_outlook(ui, model);
  const RunAnswer& run = *model.run();
  const std::string& wrong = run.hangs ? run.bottleneck : run.incomplete;
  if (!wrong.empty()) {
    problem_text(ui, wrong);
    note_item(ui, "answer/wrong");
    if (link(ui, "answer/problems", "show", run.hangs ? "Who waits for whom" : "What is missing, and where"))
      ui.session.show_panel("problems");
  }
  if (run.hangs || run.cut) return;
  if (!model.why().empty()) {
    wrapped_text(model.why());
    note_item(ui, "answer/why");
    if (link(ui, "answer/explain", "show", "All causes, with what each amounts to"))
      ui.session.show_panel("explain");
    return;
  }
  if (is_live(ui.session) && model.spare()) draw_spare(ui, *model.spare());
  muted_text(ui, model.run()->bottleneck);
  note_item(ui, "answer/bottleneck");
}

/// True if the numbers are of other values than the fields show.
bool is_outdated(Session& session) {
  return is_live(session) && session.part<ConfigModel>().outdated();
}

}  // namespace

void answer(Ui& ui) {
  auto& model = ui.session.part<AnswerModel>();
  Bar bar(ui);
  bar.bottom_line();
  if (model.run() == nullptr || ui.session.active_run() == nullptr) return;
  const RunAnswer& run = *model.run();
  draw_step(ui, bar, model);
  // An unfinished step has no meaningful share of idle time.
  if (!run.hangs && !run.cut) draw_bubble(ui, bar, model);
  if (run.peak) draw_peak(ui, bar, *run.peak);
  if (run.gap && bar.has_room(kLeastWords)) draw_gap(ui, bar, run);
  if (bar.has_room(0)) {
    bar.begin_words();
    draw_words(ui, model);
    Bar::end_words();
  }
  if (is_outdated(ui.session)) bar.dim();
}

}  // namespace pipeloom::gui::views
