#include "gui/model/session/palette.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

constexpr int kLetter = 16;
constexpr int kWordStart = 12;
constexpr int kNeighbour = 10;
constexpr int kMostGap = 8;
constexpr int kNoMatch = std::numeric_limits<int>::min() / 2;
/// Longer texts are cut: no title is.
constexpr std::size_t kMostLetters = 128;

bool is_word(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// Blanks and dashes part words in both texts, so that "zoom in" finds "zoom-in".
std::string letters_of(std::string_view typed) {
  std::string letters;
  for (const char c : typed.substr(0, kMostLetters))
    if (c != ' ' && c != '-' && c != '_') letters += lower(c);
  return letters;
}

/// best[i * n + j]: of the first i + 1 letters, the last of them at j of the text; from: the place of the letter before it then.
struct Matches {
  std::size_t n;
  std::vector<int> best;
  std::vector<std::size_t> from;
};

void match_letter(Matches& m, std::size_t i, std::string_view letters, std::string_view text) {
  // Of the places more than one before j: the best score less the gap up to j, and where it is.
  int far = kNoMatch;
  std::size_t far_at = 0;
  for (std::size_t j = 0; j < m.n; ++j) {
    const int* before = i == 0 ? nullptr : &m.best[(i - 1) * m.n];
    far = std::max(far - 1, kNoMatch);
    if (before != nullptr && j >= 2 && before[j - 2] - 1 > far) {
      far = before[j - 2] - 1;
      far_at = j - 2;
    }
    if (lower(text[j]) != letters[i]) continue;
    int start = -static_cast<int>(std::min<std::size_t>(j, kMostGap));
    std::size_t at = 0;
    if (before != nullptr) {
      const int near = j >= 1 ? before[j - 1] + kNeighbour : kNoMatch;
      start = std::max(near, far);
      at = near >= far ? j - 1 : far_at;
    }
    if (start <= kNoMatch / 2) continue;
    m.best[i * m.n + j] = start + kLetter + (j == 0 || !is_word(text[j - 1]) ? kWordStart : 0);
    m.from[i * m.n + j] = at;
  }
}

}  // namespace

int fuzzy_score(std::string_view typed, std::string_view text, std::vector<std::size_t>* at) {
  if (at != nullptr) at->clear();
  const std::string letters = letters_of(typed);
  text = text.substr(0, kMostLetters);
  if (letters.empty()) return 1;
  if (letters.size() > text.size()) return 0;
  Matches m{text.size(), {}, {}};
  m.best.assign(letters.size() * m.n, kNoMatch);
  m.from.assign(letters.size() * m.n, 0);
  for (std::size_t i = 0; i < letters.size(); ++i) match_letter(m, i, letters, text);
  const auto last = m.best.end() - static_cast<std::ptrdiff_t>(m.n);
  const auto best = std::max_element(last, m.best.end());
  if (*best <= kNoMatch / 2) return 0;
  if (at != nullptr) {
    at->resize(letters.size());
    auto j = static_cast<std::size_t>(best - last);
    for (std::size_t i = letters.size(); i-- > 0; j = m.from[i * m.n + j]) (*at)[i] = j;
  }
  // Among texts that match equally well, the shorter one comes first.
  return std::max(1, *best - static_cast<int>(text.size() / 8));
}

std::string keys_text(const Command& command) {
  std::string text;
  for (const Chord& chord : command.keys) text += (text.empty() ? "" : ", ") + to_text(chord);
  return text;
}

std::vector<SheetGroup> sheet_groups() {
  std::vector<SheetGroup> groups;
  for (const Command& command : all_commands()) {
    if (command.keys.empty()) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const SheetGroup& g) { return g.name == command.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), SheetGroup{command.group, {}});
    group->commands.push_back(&command);
  }
  return groups;
}

namespace {

PaletteEntry entry_of(const Command& command) {
  return {command.id, "", command.title, command.group, keys_text(command), command.argument, 0};
}

/// The words that the command takes, if it takes one of a few.
std::vector<std::string> choices_of(const Session& session, const Command& command) {
  std::vector<std::string> choices;
  if (command.argument == "PANEL")
    for (const auto& [id, open] : session.panel_defaults) choices.push_back(id);
  if (const auto words = session.argument_words.find(command.argument); words != session.argument_words.end())
    return words->second;
  if (command.argument.find('|') == std::string::npos) return choices;
  std::string_view rest = command.argument;
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    choices.emplace_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return choices;
}

PaletteEntry choice_of(const Command& command, const std::string& choice) {
  PaletteEntry entry = entry_of(command);
  entry.argument = choice;
  entry.title += ": " + choice;
  entry.keys.clear();
  entry.wants.clear();
  return entry;
}

/// Schedules are values of a key, not commands; people look for them by name.
void add_schedules(std::string_view typed, std::vector<PaletteEntry>& entries) {
  if (find_command("set") == nullptr) return;
  for (const schedules::Generator& generator : schedules::all()) {
    const std::string name(generator.name);
    const int score = std::max(fuzzy_score(typed, "schedule " + name), fuzzy_score(typed, name));
    if (score > 0)
      entries.push_back({"set", "schedule " + name, "Schedule: " + name, "Parameters", "", "", score});
  }
}

/// The command whose id, and a blank, `typed` begins with.
const Command* command_named(std::string_view typed) {
  const std::size_t blank = typed.find(' ');
  if (blank == std::string_view::npos) return nullptr;
  const Command* command = find_command(typed.substr(0, blank));
  return command == nullptr || command->argument.empty() ? nullptr : command;
}

std::vector<PaletteEntry> argument_entries(const Session& session, const Command& command,
                                           std::string_view argument) {
  std::vector<PaletteEntry> entries;
  for (const std::string& choice : choices_of(session, command)) {
    PaletteEntry entry = choice_of(command, choice);
    entry.score = choice == argument ? std::numeric_limits<int>::max() : fuzzy_score(argument, choice);
    if (entry.score > 0) entries.push_back(std::move(entry));
  }
  if (!entries.empty() && !argument.empty()) return entries;
  PaletteEntry plain = entry_of(command);
  plain.argument = argument;
  plain.title += argument.empty() ? " (" + command.argument + ")" : ": " + plain.argument;
  plain.wants.clear();
  entries.push_back(std::move(plain));
  return entries;
}

void add_commands(const Session& session, std::string_view typed, std::vector<PaletteEntry>& entries) {
  for (const Command& command : all_commands()) {
    PaletteEntry entry = entry_of(command);
    entry.score = std::max({2 * fuzzy_score(typed, command.title), 2 * fuzzy_score(typed, command.id),
                            fuzzy_score(typed, command.group + " " + command.title)});
    if (entry.score > 0) entries.push_back(std::move(entry));
    if (typed.empty()) continue;
    for (const std::string& choice : choices_of(session, command)) {
      PaletteEntry chosen = choice_of(command, choice);
      // Words of the choice must matter, or each command would bring all of its choices along.
      if (fuzzy_score(typed, command.title) > 0 || fuzzy_score(typed, command.id) > 0) continue;
      chosen.score =
          std::max(fuzzy_score(typed, chosen.title), fuzzy_score(typed, command.id + " " + choice));
      if (chosen.score > 0) entries.push_back(std::move(chosen));
    }
  }
}

}  // namespace

std::vector<PaletteEntry> palette_entries(const Session& session, std::string_view typed) {
  const std::size_t first = std::min(typed.find_first_not_of(' '), typed.size());
  typed.remove_prefix(first);
  std::vector<PaletteEntry> entries;
  if (const Command* command = command_named(typed)) {
    const std::size_t blank = typed.find(' ');
    entries = argument_entries(session, *command, typed.substr(blank + 1));
  } else {
    add_commands(session, typed, entries);
    if (!typed.empty()) add_schedules(typed, entries);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const PaletteEntry& a, const PaletteEntry& b) { return a.score > b.score; });
  return entries;
}

void PaletteModel::open(Session& session) {
  open_ = true;
  sheet_open = false;
  begin(session, "");
}

void PaletteModel::begin(Session& session, std::string text) {
  type(session, std::move(text));
  session.focus_request = "palette";
  cursor_frames = 4;
}

void PaletteModel::ask(Session& session, std::string_view id) {
  open(session);
  begin(session, std::string(id) + " ");
}

void PaletteModel::type(Session& session, std::string text) {
  typed_ = std::move(text);
  open_ = true;
  entries_ = palette_entries(session, typed_);
  for (const EntryFinder find : finders) find(session, typed_, entries_);
  std::ranges::stable_sort(entries_, std::greater(), &PaletteEntry::score);
  chosen_ = 0;
}

void PaletteModel::move(int by) {
  if (entries_.empty()) return;
  const auto n = static_cast<int>(entries_.size());
  chosen_ = static_cast<std::size_t>(((static_cast<int>(chosen_) + by) % n + n) % n);
}

void PaletteModel::run(Session& session, std::size_t i) {
  if (i >= entries_.size()) return;
  const PaletteEntry entry = entries_[i];
  if (!entry.wants.empty()) {
    begin(session, entry.id + " ");
    return;
  }
  close();
  run_command(session, entry.id, entry.argument);
}

void PaletteModel::write_state(const Session&, io::JsonWriter& out) const {
  constexpr std::size_t kListed = 10;
  out.object().member("chosen", chosen_).key("entries").array();
  for (std::size_t i = 0; i < std::min(entries_.size(), kListed); ++i) out.text(entries_[i].title);
  out.close().member("open", open_).member("sheet", sheet_open).member("tour", tour).member("typed", typed_);
  out.close();
}

}  // namespace pipeloom::gui
