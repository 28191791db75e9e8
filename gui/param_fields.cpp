#include "gui/param_fields.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <map>
#include <vector>

#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/effective_config.hpp"

namespace pipeloom::gui {
namespace {

/// Room for a label, in heights of letters.
constexpr float kLabelWidth = 7.8F;

ConfigModel& config(Ui& ui) {
  return ui.session.part<ConfigModel>();
}

/// Through the command, so that a refusal becomes the message.
void assign(Ui& ui, std::string_view path, const std::string& value) {
  if (value.empty())
    run_command(ui.session, "reset", path);
  else
    run_command(ui.session, "set", fmt::format("{} {}", path, value));
}

std::string field_id(const io::Key& key) {
  return "params/" + std::string(key.path);
}

/// "costs.transfer.intra.latency" -> "intra latency": the panel's headings say the rest.
std::string label_of(const io::Key& key) {
  std::string_view path = key.path;
  for (const std::string_view heading :
       {"options.memory_", "options.", "costs.transfer.", "costs.", "memory.", "step."})
    if (path.starts_with(heading)) {
      path.remove_prefix(heading.size());
      break;
    }
  std::string label(path);
  for (char& c : label)
    if (c == '_' || c == '.') c = ' ';
  // What does not fit in front of its field is said as the tables say it.
  if (label == "limit microbatches") return "limit in mb";
  if (label == "recompute modules") return "recomputed";
  return label;
}

void draw_choice(Ui& ui, const io::Key& key, const std::vector<std::string>& values,
                 const std::string& help) {
  std::vector<std::string> entries = {
      key.default_text.empty() ? "default" : fmt::format("default ({})", key.default_text)};
  entries.insert(entries.end(), values.begin(), values.end());
  const std::string now = config(ui).value(std::string(key.path));
  int chosen = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] == now) chosen = static_cast<int>(i) + 1;
  if (choice(ui, field_id(key), entries, chosen, help))
    assign(ui, key.path, chosen == 0 ? "" : values[static_cast<std::size_t>(chosen) - 1]);
}

void draw_text(Ui& ui, const std::string& id, std::string_view path, const std::string& hint,
               const std::string& help) {
  // What is being typed lives here until it is finished; otherwise the field shows what holds.
  static std::map<std::string, std::string> typing;
  const std::string now = config(ui).value(std::string(path));
  std::string text = typing.contains(id) ? typing[id] : now;
  const bool finished = text_field(ui, id, text, hint.c_str(), help);
  if (finished && text != now) assign(ui, path, text);
  if (ImGui::IsItemActive() || ImGui::IsItemFocused())
    typing[id] = text;
  else
    typing.erase(id);
  if (finished) typing.erase(id);
}

/// The number that holds where none is set: the default, or for chunks what the run has.
std::string default_count(Ui& ui, const io::Key& key) {
  if (key.path == "chunks")
    for (const OpenRun& open : ui.session.runs)
      if (open.live) return std::to_string(open.run->schedule->placement().chunks());
  return std::string(key.default_text);
}

void draw_count(Ui& ui, const io::Key& key, const std::string& help) {
  const std::string given = config(ui).value(std::string(key.path));
  const std::string now = given.empty() ? default_count(ui, key) : given;
  const auto count = number_in<int>(now);
  if (!count) {
    draw_text(ui, field_id(key), key.path, std::string(key.default_text), help);
    return;
  }
  int value = *count;
  const bool resets = !given.empty() && !key.default_text.empty();
  const float cross = ImGui::GetFrameHeight();
  if (resets)
    ImGui::SetNextItemWidth(
        std::max(ImGui::CalcItemWidth() - cross - ImGui::GetStyle().ItemInnerSpacing.x, 1.0F));
  if (number_field(ui, field_id(key), value, static_cast<int>(key.minimum), static_cast<int>(key.maximum),
                   help))
    assign(ui, key.path, std::to_string(value));
  if (!resets) return;
  ImGui::SameLine(0, ImGui::GetStyle().ItemInnerSpacing.x);
  if (button(ui, field_id(key) + "/reset", "x", "Back to the default")) assign(ui, key.path, "");
}

/// An element of an array as people type it: 1.5, 23.6ms.
std::string plain(std::string element) {
  std::erase_if(element, [](char c) { return c == '[' || c == ']' || c == '"'; });
  while (element.starts_with(' ')) element.erase(0, 1);
  return element;
}

bool is_table(const std::string& value) {
  return value.starts_with('[');
}

/// One entry of the array `elements`, which the model keeps as one value.
void draw_cell(Ui& ui, const io::Key& key, const std::vector<std::string>& elements, int stage) {
  static std::map<std::string, std::string> typing;
  const auto at = static_cast<std::size_t>(stage);
  const std::string path = fmt::format("{}.{}", key.path, stage);
  const std::string id = "params/" + path;
  const std::string now = at < elements.size() ? plain(elements[at]) : "";
  std::string text = typing.contains(id) ? typing[id] : now;
  const bool finished = text_field(ui, id, text, "", fmt::format("stage {}", stage));
  if (ImGui::IsItemActive())
    typing[id] = text;
  else
    typing.erase(id);
  if (finished && !text.empty() && text != now) assign(ui, path, text);
}

/// One field per stage, four in a row; only rows in view are drawn.
void draw_cells(Ui& ui, const io::Key& key, int stages) {
  constexpr int kAcross = 4;
  const float width = (ImGui::GetContentRegionAvail().x - 3 * ImGui::GetStyle().ItemSpacing.x) / kAcross;
  std::vector<std::string> elements = split(config(ui).value(std::string(key.path)), ',');
  if (elements.back().empty()) elements.pop_back();
  ImGuiListClipper clipper;
  clipper.Begin((stages + kAcross - 1) / kAcross, ImGui::GetFrameHeightWithSpacing());
  while (clipper.Step())
    for (int row = clipper.DisplayStart; row < clipper.DisplayEnd; ++row)
      for (int stage = row * kAcross; stage < std::min(stages, (row + 1) * kAcross); ++stage) {
        if (stage % kAcross != 0) ImGui::SameLine();
        ImGui::SetNextItemWidth(width);
        draw_cell(ui, key, elements, stage);
      }
}

void draw_stage_table(Ui& ui, const io::Key& key, int stages, const std::string& help) {
  const std::string now = config(ui).value(std::string(key.path));
  const bool table = is_table(now);
  const float button_width = ImGui::GetFrameHeight() * 2;
  ImGui::SetNextItemWidth(
      std::max(ImGui::CalcItemWidth() - button_width - ImGui::GetStyle().ItemSpacing.x, 1.0F));
  draw_text(ui, field_id(key), key.path, std::string(key.default_text), help);
  ImGui::SameLine();
  if (small_button(ui, field_id(key) + "/stages", table ? "one" : "[ ]",
                   table ? "One value for all stages" : "A value for each stage")) {
    const auto elements = split(now, ',');
    const std::string first = elements.empty() ? "" : plain(elements.front());
    assign(ui, key.path, table ? first : array_of(now, stages));
  }
  if (table) draw_cells(ui, key, stages);
}

const schedules::Generator* generator_of(const std::string& schedule) {
  for (const schedules::Generator& generator : schedules::all())
    if (generator.name == schedule) return &generator;
  try {
    return schedules::find(schedule).generator;
  } catch (const Error&) {
    return nullptr;
  }
}

/// How a quantity is typed with its unit, "" for keys that hold none.
std::string_view literal_hint(const io::Key& key) {
  if (key.unit == "time_unit") return ", or typed with one: 23.6ms";
  if (key.unit == "bytes") return ", or typed with one: 80GB, 75GiB";
  if (key.unit == "1e9 bit/s") return ", or typed with one: 400Gbit/s";
  return "";
}

void draw_widget(Ui& ui, const io::Key& key, int stages, const std::string& help) {
  using enum io::KeyType;
  if (key.option == Option::Variant) {
    const auto* generator = generator_of(config(ui).value("schedule"));
    draw_choice(ui, key, generator == nullptr ? std::vector<std::string>() : generator->requirements.variants,
                help);
    return;
  }
  switch (key.type) {
    case Choice:
      return draw_choice(ui, key, split(key.choices, '|'), help);
    case Flag: {
      bool on = config(ui).value(std::string(key.path)) == "true";
      if (checkbox(ui, field_id(key), "", on, help)) assign(ui, key.path, on ? "true" : "");
      return;
    }
    case Count:
      return draw_count(ui, key, help);
    case TimeTable:
    case BytesTable:
      return draw_stage_table(ui, key, stages, help);
    default:
      return draw_text(ui, field_id(key), key.path, std::string(key.default_text), help);
  }
}

}  // namespace

bool applies(const io::Key& key, const std::string& schedule) {
  const auto* generator = generator_of(schedule);
  if (key.option == Option::File) return schedule == io::kCustomSchedule;
  if (generator == nullptr) return true;
  const Requirements& takes = generator->requirements;
  if (key.option) return schedules::takes_option(takes, *key.option);
  if (key.path == "costs.overlapped") return takes.overlaps;
  return true;
}

std::string help_of(const io::Key& key, const RunModel* run) {
  std::string help = fmt::format("{}: {}", key.path, key.help);
  if (!key.unit.empty()) help += fmt::format("\nunit: {}{}", key.unit, literal_hint(key));
  if (!key.choices.empty()) help += fmt::format("\none of: {}", key.choices);
  if (key.type == io::KeyType::Count && key.maximum > 0)
    help += fmt::format("\na whole number from {}", key.minimum);
  if (!key.default_text.empty()) help += fmt::format("\nif left empty: {}", key.default_text);
  if (run != nullptr && run->effective)
    for (const auto& [path, origin] : run->effective->origins)
      if (path == key.path) help += fmt::format("\nnow: {}", origin);
  return help;
}

void draw_field(Ui& ui, const io::Key& key, int stages) {
  ImGui::AlignTextToFramePadding();
  const bool is_set = config(ui).is_set(std::string(key.path));
  if (is_set)
    ImGui::TextUnformatted(label_of(key).c_str());
  else
    ImGui::TextDisabled("%s", label_of(key).c_str());
  ImGui::SameLine(kLabelWidth * ImGui::GetFontSize());
  ImGui::SetNextItemWidth(-1);
  // Help is made only for the field under the pointer: it costs more than the field.
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool hovered = ImGui::IsMouseHoveringRect(
      at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y + ImGui::GetFrameHeight()));
  draw_widget(ui, key, stages, hovered ? help_of(key, ui.session.active_run()) : std::string());
}

}  // namespace pipeloom::gui
