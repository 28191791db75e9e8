// The configuration under edit: schedule, shape, costs, transfers, memory, step; why a value is refused.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/param_words.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/palette.hpp"
#include "gui/param_fields.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "schedules/generator.hpp"

namespace pipeloom::gui::views {
namespace {

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const schedules::Generator& generator : schedules::all()) all.push_back(generator.name);
    all.emplace_back(io::kCustomSchedule);
    return all;
  }();
  return names;
}

int index_of_name(const std::vector<std::string>& names, const std::string& name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

/// A sentence that begins as sentences do.
std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

/// The schedule's name and description; its requirements are shown on hover.
void draw_schedule(Ui& ui, ConfigModel& config) {
  int chosen = index_of_name(schedule_names(), config.value("schedule"));
  const bool known = chosen >= 0 && static_cast<std::size_t>(chosen) < schedules::all().size();
  const schedules::Generator* generator =
      known ? &schedules::all()[static_cast<std::size_t>(chosen)] : nullptr;
  std::string help = "Which schedule";
  if (generator != nullptr && !generator->requirements.text.empty())
    help += fmt::format("; {} needs {}", generator->name, generator->requirements.text);
  ImGui::SetNextItemWidth(-1);
  if (choice(ui, "params/schedule", schedule_names(), chosen, help))
    run_command(ui.session, "take-schedule", schedule_names()[static_cast<std::size_t>(chosen)]);
  if (generator != nullptr) muted_text(ui, sentence(generator->summary));
}

/// One group of keys: its head, the keys that are set or matter always, and under the head the others.
class Group {
 public:
  Group(Ui& ui, ConfigModel& config, const ParamGroupRow& row, int stages)
      : ui_(ui), config_(config), row_(row), stages_(stages) {
    const RunModel* run = live_run(ui.session);
    kinds_ = run == nullptr ? KindSet{OpKind::Forward, OpKind::Backward} : run->schedule->kinds();
    for (const io::Key& key : io::config_keys()) {
      if (key.path == "schedule" || group_of(key) != row.group || !has_field(config, key)) continue;
      const bool holds =
          config.is_set(std::string(key.path)) || ui.session.part<HeldValues>().from_model(key, run);
      const bool shown = is_main(key, kinds_) || (holds && !is_told_elsewhere(key));
      (shown ? shown_ : folded_).push_back(&key);
    }
  }

  /// Draws the group; returns true if it is unfolded. A group that has no key has no head.
  bool draw() {
    if (shown_.empty() && folded_.empty()) return false;
    const bool open = draw_head();
    if (row_.group == ParamGroup::Stragglers) return open;
    for (const io::Key* key : shown_) draw_field(ui_, *key, stages_);
    if (open)
      for (const io::Key* key : folded_) draw_field(ui_, *key, stages_);
    return open;
  }

 private:
  [[nodiscard]] std::string told() const {
    const io::Key* key = row_.told.empty() ? nullptr : io::find_config_key(row_.told);
    if (key == nullptr) return {};
    std::string value = config_.value(std::string(row_.told));
    if (value.empty()) value = ui_.session.part<HeldValues>().of(*key, live_run(ui_.session));
    if (value.empty()) value = key->default_text;
    return shown_of(*key, value, "").text;
  }

  /// "Costs, per rank": the head names the unit that the numbers are per, where the group has rows of it.
  [[nodiscard]] std::string head() const {
    const bool counted = row_.group == ParamGroup::Costs || row_.group == ParamGroup::Memory;
    const std::string per = counted ? told() : "";
    // A default in words is known once there is a run.
    const bool known = !per.empty() && per.find(' ') == std::string::npos;
    return std::string(row_.head) + (known ? ", per " + per : "");
  }

  [[nodiscard]] std::string folded_text() const {
    if (row_.group == ParamGroup::Stragglers)
      return shown_.empty() ? std::string(row_.at_rest) : "some ranks differ";
    if (folded_.empty()) return {};
    if (!shown_.empty()) return fmt::format("{} more", folded_.size());
    return row_.at_rest.empty() ? told() : std::string(row_.at_rest);
  }

  /// True if a script is about to use a folded key, or the search box leads to it.
  [[nodiscard]] bool is_wanted() const {
    return is_wanted(ui_.items.wanted()) || is_wanted(ui_.session.focus_request);
  }
  [[nodiscard]] bool is_wanted(const std::string& wanted) const {
    if (row_.group == ParamGroup::Stragglers && wanted.starts_with("params/rank_scale/")) return true;
    return std::any_of(folded_.begin(), folded_.end(), [&](const io::Key* key) {
      return wanted.starts_with("params/" + std::string(key->path));
    });
  }

  bool draw_head() {
    double& open = ui_.session.preferences.splits.try_emplace("unfolded/params/" + std::string(row_.id), 0)
                       .first->second;
    if (is_wanted()) open = 1;
    const float scale = ui_.skin.scale;
    const std::string right = folded_text();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const std::string id = "params/" + std::string(row_.id);
    ImGui::PushID(id.c_str());
    const bool pressed =
        ImGui::InvisibleButton("head", ImVec2(std::max(width, 1.0F), ImGui::GetFrameHeight()));
    ImGui::PopID();
    note_item(ui_, id);
    const Rgba ink = !right.empty() && ImGui::IsItemHovered() ? ui_.skin.text : ui_.skin.muted;
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    const float y = at.y + ImGui::GetStyle().FramePadding.y;
    put_text(draw, ImVec2(at.x, y), ink, head());
    if (right.empty()) return false;
    if (pressed) open = open == 0 ? 1 : 0;
    const float wedge = at.x + width - icon_width() / 2;
    draw_icon(open != 0 ? Icon::Down : Icon::Right, ImVec2(wedge, at.y + ImGui::GetFrameHeight() / 2), ink);
    const float end = wedge - icon_width() / 2 - 6 * scale;
    put_text(draw, ImVec2(end - ImGui::CalcTextSize(right.c_str()).x, y), ink, right);
    return open != 0;
  }

  Ui& ui_;
  ConfigModel& config_;
  const ParamGroupRow& row_;
  int stages_;
  KindSet kinds_;
  std::vector<const io::Key*> shown_;
  std::vector<const io::Key*> folded_;
};

std::vector<double> scales_of(const ConfigModel& config, int ranks) {
  std::vector<double> scales(static_cast<std::size_t>(ranks), 1.0);
  const std::string text = config.value("costs.rank_scale");
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (double& scale : scales) {
    while (at != end && (*at < '0' || *at > '9')) ++at;
    at = std::from_chars(at, end, scale).ptr;
  }
  return scales;
}

std::string text_of(const std::vector<double>& scales) {
  std::string out;
  for (const double scale : scales) out += fmt::format("{}{:.4g}", out.empty() ? "[" : ", ", scale);
  return out + "]";
}

bool draw_straggler(Ui& ui, std::vector<double>& scales, int rank) {
  ImGui::AlignTextToFramePadding();
  text_item(fmt::format("rank {}", rank));
  ImGui::SameLine(ImGui::GetFontSize() * 5);
  ImGui::SetNextItemWidth(-1);
  return slider(ui, fmt::format("params/rank_scale/{}", rank), scales[static_cast<std::size_t>(rank)], 0.5, 3,
                "x %.2f", "How many times longer this rank takes for the same work");
}

/// A slider per rank: the effect of one slow device on the others. Of many ranks, one is picked.
void draw_stragglers(Ui& ui, ConfigModel& config, int ranks) {
  constexpr int kMostSliders = 32;
  static int picked = 0;
  std::vector<double> scales = scales_of(config, ranks);
  bool changed = false;
  if (ranks > kMostSliders) {
    picked = std::min(picked, ranks - 1);
    ImGui::SetNextItemWidth(-1);
    number_field(ui, "params/rank_scale/rank", picked, 0, ranks - 1, "Which rank the slider is of");
    changed = draw_straggler(ui, scales, picked);
  } else {
    for (int rank = 0; rank < ranks; ++rank) changed = draw_straggler(ui, scales, rank) || changed;
  }
  if (changed) run_command(ui.session, "set", "costs.rank_scale " + text_of(scales));
  if (config.is_set("costs.rank_scale") && button(ui, "params/rank_scale/reset", "All equal"))
    run_command(ui.session, "reset", "costs.rank_scale");
}

int stages_of(const Session& session) {
  const RunModel* run = live_run(session);
  return run == nullptr ? 1 : run->schedule->stages();
}

/// Buttons one after another, on as many lines as they need.
class ButtonRow {
 public:
  explicit ButtonRow(Ui& ui) : ui_(ui) {}
  bool add(std::string_view id, const char* label, std::string_view help, bool possible = true) {
    const float width = ImGui::CalcTextSize(label).x + 2 * ImGui::GetStyle().FramePadding.x;
    if (any_) ImGui::SameLine();
    if (any_ && ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
    any_ = true;
    ImGui::BeginDisabled(!possible);
    const bool pressed = button(ui_, id, label, help);
    ImGui::EndDisabled();
    return pressed;
  }

 private:
  Ui& ui_;
  bool any_ = false;
};

void draw_buttons(Ui& ui, const ConfigModel& config) {
  const auto& history = ui.session.part<EditHistory>();
  ButtonRow row(ui);
  if (row.add("params/undo", "Undo", "Takes the last change back (Ctrl+Z)", history.can_undo()))
    run_command(ui.session, "undo");
  if (row.add("params/redo", "Redo", "Does it again (Ctrl+Shift+Z)", history.can_redo()))
    run_command(ui.session, "redo");
  if (row.add("params/snapshot", "Snapshot", "Keeps the run as it is, to compare with it (B)"))
    run_command(ui.session, "snapshot");
  if (row.add("params/copy", "Copy", "Copies the configuration, as a file holds it"))
    run_command(ui.session, "copy-configuration");
  const std::string where = config.file().empty() ? "Saves the configuration in a file (Ctrl+S)"
                                                  : "Saves the configuration in " + config.file();
  if (!row.add("params/save", "Save", where, config.file().empty() || config.unsaved())) return;
  if (config.file().empty())
    ui.session.part<PaletteModel>().ask(ui.session, "save-configuration");
  else
    run_command(ui.session, "save-configuration");
}

/// Lines that the buttons take at this width.
float height_of_buttons(const Ui& ui) {
  const float width = ImGui::GetContentRegionAvail().x;
  float x = 0;
  int lines = 1;
  for (const char* label : {"Undo", "Redo", "Snapshot", "Copy", "Save"}) {
    const float needed = ImGui::CalcTextSize(label).x + 2 * ImGui::GetStyle().FramePadding.x;
    if (x > 0 && x + needed > width) {
      x = 0;
      ++lines;
    }
    x += needed + ImGui::GetStyle().ItemSpacing.x;
  }
  return static_cast<float>(lines) * ImGui::GetFrameHeightWithSpacing() + 4 * ui.skin.scale;
}

/// The first line: which run the fields are of, with its colour on the chart.
void draw_edited(Ui& ui, const ConfigModel& config) {
  const std::vector<OpenRun>& runs = ui.session.runs;
  const auto live = std::ranges::find_if(runs, &OpenRun::live);
  const float scale = ui.skin.scale;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 middle(at.x + 4 * scale, at.y + ImGui::GetTextLineHeight() / 2);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  if (live == runs.end())
    draw.AddCircle(middle, 4 * scale, ui.skin.muted, 16, scale);
  else
    draw.AddCircleFilled(middle, 4 * scale,
                         to_rgba(run_colour(ui.session, static_cast<std::size_t>(live - runs.begin()))), 16);
  ImGui::SetCursorScreenPos(ImVec2(at.x + 14 * scale, at.y));
  const std::string text = (live == runs.end() ? "Not on screen: " : "Editing: ") + config.name();
  const std::string shown = fitted(text, ImGui::GetContentRegionAvail().x);
  text_item(shown);
  note_item(ui, "params/edited");
  explain(live == runs.end() ? "What a number that is changed here gives is stacked below" : text);
}

void draw_groups(Ui& ui, ConfigModel& config) {
  const int stages = stages_of(ui.session);
  draw_schedule(ui, config);
  ImGui::Dummy(ImVec2(0, 4 * ui.skin.scale));
  for (const ParamGroupRow& row : param_groups()) {
    Group group(ui, config, row, stages);
    if (group.draw() && row.group == ParamGroup::Stragglers)
      draw_stragglers(ui, config, std::max(number_in<int>(config.value("ranks")).value_or(1), 1));
  }
}

}  // namespace

void params(Ui& ui) {
  auto& config = ui.session.part<ConfigModel>();
  draw_edited(ui, config);
  const float buttons = height_of_buttons(ui);
  const float room = std::max(ImGui::GetContentRegionAvail().y - buttons, 1.0F);
  if (ImGui::BeginChild("groups", ImVec2(0, room))) draw_groups(ui, config);
  ImGui::EndChild();
  draw_buttons(ui, config);
}

}  // namespace pipeloom::gui::views
