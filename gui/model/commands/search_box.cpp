#include "gui/model/commands/search_box.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/param_words.hpp"
#include "gui/model/panels/search.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// A field that no key of the configuration has.
struct OwnField {
  const char* id;
  const char* title;
};
constexpr OwnField kOwnFields[] = {{"params/stragglers", "Stragglers: a slow rank"},
                                   {"find/objective", "Find: best by"},
                                   {"find/limit", "Find: limit"},
                                   {"find/budget", "Find: seconds of the search"},
                                   {"find/target", "Find: must run in"}};

/// True if the text has what only queries of ops have.
bool looks_like_query(std::string_view text) {
  return text.find_first_of(":<>=&|") != std::string_view::npos;
}

bool is_query(const Session& session, std::string_view text) {
  const RunModel* run = session.active_run();
  try {
    return !SearchQuery::parse(text, run == nullptr ? TimeUnit::Unit : run->timeline.unit).empty();
  } catch (const Error&) {
    return false;
  }
}

std::vector<const io::Key*> fields_of(Session& session) {
  std::vector<const io::Key*> out;
  const auto& config = session.part<ConfigModel>();
  for (const io::Key& key : io::config_keys())
    if (has_field(config, key) && group_of(key) != ParamGroup::Stragglers) out.push_back(&key);
  return out;
}

int score_of(const io::Key& key, std::string_view typed) {
  return std::max({2 * fuzzy_score(typed, label_of(key)), 2 * fuzzy_score(typed, key.path),
                   fuzzy_score(typed, "setting " + label_of(key))});
}

}  // namespace

void find_op_entries(Session& session, std::string_view typed, std::vector<PaletteEntry>& entries) {
  const std::string_view text = trimmed(typed);
  auto& search = session.part<SearchModel>();
  if (!is_query(session, text)) {
    if (looks_like_query(text)) search.set(session, std::string(text));  // says what is wrong
    return;
  }
  search.set(session, std::string(text));
  entries.push_back({"search-next", "", "Ops: " + std::string(text), "Enter goes to the next", "", "",
                     std::numeric_limits<int>::max()});
}

void find_field_entries(Session& session, std::string_view typed, std::vector<PaletteEntry>& entries) {
  if (trimmed(typed).empty()) return;
  for (const io::Key* key : fields_of(session))
    if (const int score = score_of(*key, typed); score > 0)
      entries.push_back(
          {"go-to-field", "params/" + std::string(key->path), label_of(*key), "Setting", "", "", score});
  for (const OwnField& field : kOwnFields)
    if (const int score = 2 * fuzzy_score(typed, field.title); score > 0)
      entries.push_back({"go-to-field", field.id, field.title, "Setting", "", "", score});
}

void go_to_field(Session& session, std::string_view field) {
  const std::string id(field);
  const std::string panel = id.substr(0, id.find('/'));
  const std::string path = id.substr(std::min(id.find('/') + 1, id.size()));
  const io::Key* key = panel == "params" ? io::find_config_key(path) : nullptr;
  const bool own = std::ranges::any_of(kOwnFields, [&](const OwnField& each) { return each.id == id; });
  if (!own && (key == nullptr || !has_field(session.part<ConfigModel>(), *key)))
    throw InputError(
        Where{"go-to-field"},
        "'" + shortened(field, 80) + "' has no field now; name one such as params/ranks, or find/limit");
  session.preferences.panels[panel] = true;
  session.preferences.splits["folded/" + panel] = 0;
  session.front_request = panel;
  session.focus_request = id;
}

}  // namespace pipeloom::gui
