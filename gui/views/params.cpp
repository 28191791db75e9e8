// The configuration under edit: schedule, shape, costs, transfers, memory, step; why it is refused, and what would make it legal.

#include <fmt/format.h>
#include <imgui.h>

#include <charconv>
#include <string>
#include <vector>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/session/command.hpp"
#include "gui/param_fields.hpp"
#include "gui/widgets.hpp"
#include "schedules/generator.hpp"
#include "study/report/run_tables.hpp"

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

void draw_file_row(Ui& ui, ConfigModel& config) {
  int chosen = index_of_name(config.presets(), "");
  ImGui::SetNextItemWidth(-1);
  if (!config.presets().empty() && choice(ui, "params/preset", config.presets(), chosen,
                                          "Load a ready configuration (undo brings yours back)"))
    run_command(ui.session, "preset", config.presets()[static_cast<std::size_t>(chosen)]);
  const auto& history = ui.session.part<EditHistory>();
  ImGui::BeginDisabled(!history.can_undo());
  if (button(ui, "params/undo", "Undo", "Ctrl+Z")) run_command(ui.session, "undo");
  ImGui::EndDisabled();
  ImGui::SameLine();
  ImGui::BeginDisabled(!history.can_redo());
  if (button(ui, "params/redo", "Redo", "Ctrl+Shift+Z")) run_command(ui.session, "redo");
  ImGui::EndDisabled();
  ImGui::SameLine();
  if (button(ui, "params/copy", "Copy", "Copy as a command line of `pipeloom simulate`"))
    run_command(ui.session, "copy-command-line");
}

/// Where it is saved: the file it came from, or what is typed here.
void draw_save_row(Ui& ui, const ConfigModel& config) {
  static std::string target;
  static std::string came_from;
  if (came_from != config.file()) target = came_from = config.file();
  const float save = ImGui::CalcTextSize("Replace").x + 2 * ImGui::GetStyle().FramePadding.x;
  ImGui::SetNextItemWidth(-save - ImGui::GetStyle().ItemSpacing.x);
  (void)live_text_field(ui, "params/file", target, "file to save to");
  ImGui::SameLine();
  ImGui::BeginDisabled(target.empty());
  const bool replaces = target != config.file() && is_there(target);
  if (button(ui, "params/save",
             replaces           ? "Replace"
             : config.unsaved() ? "Save *"
                                : "Save",
             replaces ? "There is a file of this name: it would be lost" : "Save the configuration (Ctrl+S)"))
    run_command(ui.session, "save-configuration", target + std::string(replaces ? kForce : ""));
  ImGui::EndDisabled();
}

void draw_problem(Ui& ui, const ConfigModel& config) {
  if (config.problem().empty()) return;
  problem_text(ui, config.problem());
  std::size_t taken = config.fixes().size();
  for (std::size_t i = 0; i < config.fixes().size(); ++i) {
    const std::string& label = config.fixes()[i].label;
    const float width = ImGui::CalcTextSize(label.c_str()).x + 2 * ImGui::GetStyle().FramePadding.x;
    if (i > 0) ImGui::SameLine();
    if (i > 0 && ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
    if (button(ui, fmt::format("params/fix/{}", i), label.c_str(), "Make this change")) taken = i;
  }
  if (taken < config.fixes().size()) run_command(ui.session, "take-fix", std::to_string(taken + 1));
}

/// A run that needs more memory than there is runs all the same.
void draw_over_limit(Ui& ui) {
  for (const OpenRun& open : ui.session.runs)
    if (open.live && open.run->over_limit)
      problem_text(ui, study::over_limit_text(*open.run->over_limit, *open.run->memory));
}

/// The summary of the schedule, and what it needs.
void draw_schedule(Ui& ui, ConfigModel& config) {
  int chosen = index_of_name(schedule_names(), config.value("schedule"));
  ImGui::SetNextItemWidth(-1);
  if (choice(ui, "params/schedule", schedule_names(), chosen, "Which schedule"))
    run_command(ui.session, "take-schedule", schedule_names()[static_cast<std::size_t>(chosen)]);
  if (chosen < 0 || static_cast<std::size_t>(chosen) >= schedules::all().size()) return;
  const schedules::Generator& generator = schedules::all()[static_cast<std::size_t>(chosen)];
  muted_text(ui, generator.summary);
  if (!generator.requirements.text.empty()) muted_text(ui, "needs " + generator.requirements.text);
}

bool has_options(const std::string& schedule) {
  for (const io::Key& key : io::config_keys())
    if (key.group == io::KeyClass::Option && key.type != io::KeyType::Object && applies(key, schedule))
      return true;
  return false;
}

void draw_group(Ui& ui, ConfigModel& config, io::KeyClass group, int stages) {
  const std::string schedule = config.value("schedule");
  for (const io::Key& key : io::config_keys())
    if (key.group == group && key.type != io::KeyType::Object && key.path != "schedule" &&
        key.path != "costs.rank_scale" && (applies(key, schedule) || config.is_set(std::string(key.path))))
      draw_field(ui, key, stages);
}

bool section(Ui& ui, const char* title, const char* id, bool open) {
  ImGui::Spacing();
  ImGui::PushStyleColor(ImGuiCol_Header, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  const bool shown =
      ImGui::CollapsingHeader(title, open ? ImGuiTreeNodeFlags_DefaultOpen : ImGuiTreeNodeFlags_None);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
  note_item(ui, id);
  return shown;
}

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
  ImGui::TextDisabled("rank %d", rank);
  ImGui::SameLine(ImGui::GetFontSize() * 5);
  ImGui::SetNextItemWidth(-1);
  return slider(ui, fmt::format("params/rank_scale/{}", rank), scales[static_cast<std::size_t>(rank)], 0.5, 3,
                "x %.2f", "How many times longer this rank takes for the same work");
}

/// A slider per rank: what one slow device does to the others. Of many ranks, one is picked.
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
  for (const OpenRun& open : session.runs)
    if (open.live) return open.run->schedule->stages();
  return 1;
}

}  // namespace

void params(Ui& ui) {
  auto& config = ui.session.part<ConfigModel>();
  const int stages = stages_of(ui.session);
  draw_file_row(ui, config);
  draw_save_row(ui, config);
  draw_problem(ui, config);
  draw_over_limit(ui);
  draw_schedule(ui, config);
  draw_group(ui, config, io::KeyClass::Shape, stages);
  if (has_options(config.value("schedule")) && section(ui, "Options", "params/options", true))
    draw_group(ui, config, io::KeyClass::Option, stages);
  if (section(ui, "Costs", "params/costs", true)) draw_group(ui, config, io::KeyClass::Cost, stages);
  if (section(ui, "Stragglers", "params/stragglers", false)) {
    draw_stragglers(ui, config, std::max(number_in<int>(config.value("ranks")).value_or(1), 1));
  }
  if (section(ui, "Transfers", "params/transfers", false))
    draw_group(ui, config, io::KeyClass::Transfer, stages);
  if (section(ui, "Memory", "params/memory", false)) draw_group(ui, config, io::KeyClass::Memory, stages);
  if (section(ui, "Step", "params/step", false)) draw_group(ui, config, io::KeyClass::Step, stages);
}

}  // namespace pipeloom::gui::views
