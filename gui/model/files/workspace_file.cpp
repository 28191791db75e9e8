#include "gui/model/files/workspace_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>

#include <pipeloom/error.hpp>
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/preferences.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

using io::JsonWriter;
using io::Value;
using io::ValueKind;

constexpr std::string_view kVersionKey = "pipeloom_workspace";
constexpr int kVersion = 1;
constexpr std::size_t kMostEntries = 1000;
constexpr int kMostRank = 1 << 20;
constexpr double kMostRowHeight = 1000;

/// A part of the view that is on or off.
struct Flag {
  std::string_view name;
  bool ViewState::*member;
};
constexpr Flag kFlags[] = {
    {"critical", &ViewState::show_critical}, {"idle", &ViewState::show_idle},
    {"memory", &ViewState::show_memory},     {"memory-track", &ViewState::show_memory_track},
    {"messages", &ViewState::show_messages}, {"copies", &ViewState::show_copies},
    {"minimap", &ViewState::show_minimap},   {"overview", &ViewState::show_overview},
    {"arrows", &ViewState::show_arrows}};

/// Sets of ranks.
struct RankSet {
  std::string_view name;
  std::set<int> ViewState::*member;
};
constexpr RankSet kRankSets[] = {
    {"pinned", &ViewState::pinned}, {"collapsed", &ViewState::collapsed}, {"hidden", &ViewState::hidden}};

const Value& require(const Value& value, ValueKind kind, std::string_view what) {
  if (!value.is(kind))
    throw InputError(value.where(), "found " + value.described() + "; " + std::string(what) + " must be " +
                                        std::string(io::name_of(kind)));
  return value;
}

std::string text_in(const Value& value, std::string_view what) {
  return require(value, ValueKind::String, what).text();
}

bool flag_in(const Value& value, std::string_view what) {
  return require(value, ValueKind::Bool, what).text() == "true";
}

const std::vector<Value>& entries_in(const Value& value, std::string_view what,
                                     std::size_t most = kMostEntries) {
  const std::vector<Value>& items = require(value, ValueKind::Array, what).items();
  if (items.size() > most)
    throw InputError(value.where(), "found " + value.described() + "; " + std::string(what) +
                                        " has at most " + std::to_string(most) + " entries");
  return items;
}

int whole_in(const Value& value, int most, std::string_view what) {
  const double number = require(value, ValueKind::Number, what).number();
  if (!(number >= 0 && number <= most) || number != std::floor(number))
    throw InputError(value.where(), "found " + value.described() + "; " + std::string(what) +
                                        " must be a whole number from 0 to " + std::to_string(most));
  return static_cast<int>(number);
}

Ticks time_in(const Value& value, TimeUnit unit) {
  const auto time = parse_ticks(require(value, ValueKind::Number, "a time").text(), unit);
  if (!time || time->value < 0)
    throw InputError(value.where(), "found " + value.described() + "; a time must not be negative");
  return time->value;
}

std::string_view name_in(const Value& value, std::string_view what, const std::vector<std::string>& valid) {
  const std::string& found = require(value, ValueKind::String, what).text();
  if (std::ranges::find(valid, found) == valid.end())
    throw InputError::unknown_name(value.where(), std::string(what), found, valid);
  return found;
}

/// Reads an object key by key, of a fixed set of keys.
template <class Row, class... Arguments>
void read_object(const Value& value, std::string_view what, const Row& rows, Arguments&... arguments) {
  require(value, ValueKind::Object, what);
  for (std::size_t i = 0; i < value.keys().size(); ++i) {
    const std::string& key = value.keys()[i].name;
    const auto row = std::ranges::find_if(rows, [&](const auto& each) { return each.key == key; });
    if (row == std::end(rows)) {
      std::vector<std::string> valid;
      for (const auto& each : rows) valid.emplace_back(each.key);
      throw InputError::unknown_name(value.where_key(i), "key of " + std::string(what), key, valid);
    }
    row->read(value.items()[i], arguments...);
  }
}

std::string absolute(const std::string& path, const std::string& base) {
  return absolute_path(io::relative_to(base, path));
}

/// The path relative to the folder of `base`; a file of another tree keeps its whole name.
std::string relative(const std::string& path, const std::string& base) {
  std::error_code error;
  const auto folder = std::filesystem::absolute(base, error).parent_path();
  if (error) return path;
  const std::string near = std::filesystem::path(path).lexically_relative(folder).string();
  return near.empty() || near.starts_with("..") ? path : near;
}

struct SnapshotRow {
  std::string_view key;
  void (*read)(const Value& value, KeptSnapshot& out);
};
constexpr SnapshotRow kSnapshotRows[] = {
    {"name", [](const Value& value, KeptSnapshot& out) { out.name = text_in(value, "a snapshot's name"); }},
    {"configuration",
     [](const Value& value, KeptSnapshot& out) { out.config = study::assignments_of(value); }},
    {"shown", [](const Value& value, KeptSnapshot& out) { out.shown = flag_in(value, "shown"); }}};

void read_snapshots(const Value& value, Workspace& out) {
  for (const Value& entry : entries_in(value, "snapshots")) {
    KeptSnapshot snapshot;
    read_object(entry, "a snapshot", kSnapshotRows, snapshot);
    const auto same = [&](const KeptSnapshot& other) { return other.name == snapshot.name; };
    if (snapshot.name.empty() || std::ranges::any_of(out.snapshots, same))
      throw InputError(entry.where(), "a snapshot must have a name that no other one has");
    out.snapshots.push_back(std::move(snapshot));
  }
}

struct MarkRow {
  std::string_view key;
  void (*read)(const Value& value, Mark& out, TimeUnit& unit);
};
constexpr MarkRow kMarkRows[] = {
    {"time", [](const Value& value, Mark& out, TimeUnit& unit) { out.time = time_in(value, unit); }},
    {"text", [](const Value& value, Mark& out, TimeUnit&) { out.note = text_in(value, "a mark's text"); }},
    {"kept", [](const Value& value, Mark& out, TimeUnit&) { out.persistent = flag_in(value, "kept"); }}};

struct ViewRow {
  std::string_view key;
  void (*read)(const Value& value, ViewState& out);
};

void read_colour(const Value& value, ViewState& out) {
  std::vector<std::string> names;
  for (const GanttColour colour : kAllGanttColours) names.emplace_back(name_of(colour));
  const auto at = std::ranges::find(names, name_in(value, "colour", names)) - names.begin();
  out.colour = kAllGanttColours[at];
}

void read_flags(const Value& value, ViewState& out) {
  std::vector<std::string> names;
  for (const Flag& flag : kFlags) {
    names.emplace_back(flag.name);
    out.*flag.member = false;
  }
  for (const Value& entry : entries_in(value, "show")) {
    const auto at = std::ranges::find(names, name_in(entry, "part of the view", names)) - names.begin();
    out.*kFlags[at].member = true;
  }
}

void read_kinds(const Value& value, ViewState& out) {
  std::vector<std::string> letters;
  for (const OpKind kind : kAllOpKinds) letters.emplace_back(1, letter_of(kind));
  for (const Value& entry : entries_in(value, "hidden_kinds")) {
    const auto at = std::ranges::find(letters, name_in(entry, "kind of op", letters)) - letters.begin();
    out.hidden_kinds |= 1U << index_of(kAllOpKinds[static_cast<std::size_t>(at)]);
  }
}

void read_row_height(const Value& value, ViewState& out) {
  const double height = require(value, ValueKind::Number, "row_height").number();
  if (!(height >= 0 && height <= kMostRowHeight))
    throw InputError(value.where(),
                     "found " + value.described() + "; row_height must be pixels from 0 to 1000");
  out.row_height = height;
}

template <std::size_t I>
void read_ranks(const Value& value, ViewState& out) {
  for (const Value& entry : entries_in(value, kRankSets[I].name, kMostRank))
    (out.*kRankSets[I].member).insert(whole_in(entry, kMostRank, "a rank"));
}

void read_order(const Value& value, ViewState& out) {
  std::vector<int> ranks;
  for (const Value& entry : entries_in(value, "rank_order", kMostRank))
    ranks.push_back(whole_in(entry, kMostRank, "a rank"));
  if (!out.order.take(std::move(ranks)))
    throw InputError(value.where(),
                     "rank_order must have each rank from 0 to its number of entries - 1 once");
}

constexpr ViewRow kViewRows[] = {{"colour", read_colour},
                                 {"show", read_flags},
                                 {"hidden_kinds", read_kinds},
                                 {"row_height", read_row_height},
                                 {kRankSets[0].name, read_ranks<0>},
                                 {kRankSets[1].name, read_ranks<1>},
                                 {kRankSets[2].name, read_ranks<2>},
                                 {"rank_order", read_order}};

struct NamedRun {
  std::string_view key;
  RunName Workspace::*member;
};
constexpr NamedRun kNamedRuns[] = {{"baseline", &Workspace::baseline}, {"active", &Workspace::active}};

RunName run_name_in(const Value& value, std::string_view what, const std::string& path) {
  const Value& object = require(value, ValueKind::Object, what);
  if (object.keys().size() != 1)
    throw InputError(value.where(), "found " + value.described() + "; " + std::string(what) +
                                        " is one of {\"snapshot\": NAME}, {\"file\": NAME}, "
                                        "{\"schedule\": NAME}");
  const std::string& kind = object.keys()[0].name;
  if (kind != "snapshot" && kind != "file" && kind != "schedule")
    throw InputError::unknown_name(object.where_key(0), "kind of run", kind,
                                   {"snapshot", "file", "schedule"});
  std::string name = text_in(object.items()[0], "a run's name");
  return {kind, kind == "file" ? absolute(name, path) : name};
}

template <std::size_t I>
void read_named_run(const Value& value, Workspace& out, const std::string& path) {
  const auto& [key, member] = kNamedRuns[I];
  out.*member = run_name_in(value, key, path);
}

/// One queue in an order of its own.
struct KeptQueue {
  int rank = 0;
  std::string line;
};
struct QueueRow {
  std::string_view key;
  void (*read)(const Value& value, KeptQueue& out);
};
constexpr QueueRow kQueueRows[] = {
    {"rank", [](const Value& value, KeptQueue& out) { out.rank = whole_in(value, kMostRank, "a rank"); }},
    {"queue", [](const Value& value, KeptQueue& out) { out.line = text_in(value, "a queue"); }}};

void read_queues(const Value& value, KeptEdits& out, const std::string&) {
  for (const Value& entry : entries_in(value, "queues", kMostRank)) {
    KeptQueue queue;
    read_object(entry, "a queue", kQueueRows, queue);
    out.queues[queue.rank] = std::move(queue.line);
  }
}

struct EditsRow {
  std::string_view key;
  void (*read)(const Value& value, KeptEdits& out, const std::string& path);
};
constexpr EditsRow kEditsRows[] = {
    {"of", [](const Value& value, KeptEdits& out,
              const std::string& path) { out.of = run_name_in(value, "of", path); }},
    {"queues", read_queues}};

/// An object, or an array of them.
void read_edits(const Value& value, Workspace& out, const std::string& path) {
  const auto read = [&](const Value& one) {
    read_object(one, "edits", kEditsRows, out.edits.emplace_back(), path);
  };
  if (!value.is(ValueKind::Array)) return read(value);
  for (const Value& entry : entries_in(value, "edits")) read(entry);
}

/// Reads the unit, which must be known before all times.
void read_unit(const Value& root, Workspace& out) {
  const Value* value = root.find("time_unit");
  if (value == nullptr) return;
  const auto unit = time_unit_named(require(*value, ValueKind::String, "time_unit").text());
  if (!unit)
    throw InputError::unknown_name(value->where(), "time unit", value->text(),
                                   {"unit", "s", "ms", "us", "ns"});
  out.unit = *unit;
}

void read_range(const Value& value, Workspace& out) {
  if (value.is(ValueKind::Null)) return;
  const std::vector<Value>& ends = entries_in(value, "range");
  if (ends.size() != 2)
    throw InputError(value.where(), "found " + value.described() + "; range is null or two times");
  out.range = {time_in(ends[0], out.unit), time_in(ends[1], out.unit)};
  if (out.range->end <= out.range->start)
    throw InputError(ends[1].where(),
                     "found " + ends[1].described() + "; the range must end after it starts");
}

void read_layout(const Value& value, Workspace& out) {
  require(value, ValueKind::Object, "layout");
  read_preferences(value.canonical_text(), value.where().text(), out.layout);
}

struct WorkspaceRow {
  std::string_view key;
  void (*read)(const Value& value, Workspace& out, const std::string& path);
};
constexpr WorkspaceRow kWorkspaceRows[] = {
    {kVersionKey, [](const Value&, Workspace&, const std::string&) {}},
    {"configuration",
     [](const Value& value, Workspace& out, const std::string&) {
       out.configuration = study::assignments_of(require(value, ValueKind::Object, "configuration"));
     }},
    {"configuration_file",
     [](const Value& value, Workspace& out, const std::string& path) {
       out.configuration_file = absolute(text_in(value, "configuration_file"), path);
     }},
    {"files",
     [](const Value& value, Workspace& out, const std::string& path) {
       for (const Value& entry : entries_in(value, "files"))
         out.files.push_back(absolute(text_in(entry, "a file's name"), path));
     }},
    {"schedules",
     [](const Value& value, Workspace& out, const std::string&) {
       for (const Value& entry : entries_in(value, "schedules"))
         out.schedules.push_back(text_in(entry, "a schedule's name"));
     }},
    {"snapshots", [](const Value& value, Workspace& out, const std::string&) { read_snapshots(value, out); }},
    {"edits", read_edits},
    {kNamedRuns[0].key, read_named_run<0>},
    {kNamedRuns[1].key, read_named_run<1>},
    {"time_unit", [](const Value&, Workspace&, const std::string&) {}},
    {"range", [](const Value& value, Workspace& out, const std::string&) { read_range(value, out); }},
    {"marks",
     [](const Value& value, Workspace& out, const std::string&) {
       for (const Value& entry : entries_in(value, "marks"))
         read_object(entry, "a mark", kMarkRows, out.marks.emplace_back(), out.unit);
     }},
    {"view", [](const Value& value, Workspace& out,
                const std::string&) { read_object(value, "view", kViewRows, out.view); }},
    {"layout", [](const Value& value, Workspace& out, const std::string&) { read_layout(value, out); }}};

void require_version(const Value& root) {
  const Value* version = root.is(ValueKind::Object) ? root.find(kVersionKey) : nullptr;
  if (version == nullptr)
    throw InputError(root.where(), "it is no workspace: it has no \"pipeloom_workspace\"; open it by `open`");
  if (!version->is(ValueKind::Number) || version->text() != std::to_string(kVersion))
    throw InputError(version->where(), "found " + version->described() +
                                           "; this version reads workspaces of version " +
                                           std::to_string(kVersion));
}

/// JSON of its own lines inside another's: strings have no line ends.
std::string inside(const std::string& text, std::size_t blanks) {
  std::string out;
  for (const char c : text.substr(0, text.find_last_not_of('\n') + 1)) {
    out += c;
    if (c == '\n') out.append(blanks, ' ');
  }
  return out;
}

void write_view(JsonWriter& out, const ViewState& view) {
  out.object().member("colour", name_of(view.colour)).key("show").array();
  for (const Flag& flag : kFlags)
    if (view.*flag.member) out.text(flag.name);
  out.close().key("hidden_kinds").array();
  for (const OpKind kind : kAllOpKinds)
    if ((view.hidden_kinds >> index_of(kind) & 1U) != 0) out.text(std::string(1, letter_of(kind)));
  out.close().member("row_height", view.row_height);
  for (const RankSet& ranks : kRankSets) out.key(ranks.name).value(view.*ranks.member);
  if (!view.order.by_number()) out.key("rank_order").value(view.order.listed());
  out.close();
}

void write_marks(JsonWriter& out, const Workspace& workspace) {
  out.array();
  for (const Mark& mark : workspace.marks) {
    out.line(4).object().key("time").ticks(mark.time, workspace.unit).member("text", mark.note);
    out.member("kept", mark.persistent).close();
  }
  out.close(2);
}

void write_snapshots(JsonWriter& out, const std::vector<KeptSnapshot>& snapshots) {
  out.array();
  for (const KeptSnapshot& snapshot : snapshots) {
    out.line(4)
        .object()
        .member("name", snapshot.name)
        .key("configuration")
        .raw(inside(config_text(snapshot.config), 4));
    out.member("shown", snapshot.shown).close();
  }
  out.close(2);
}

void write_edits(JsonWriter& out, const KeptEdits& edits, const std::string& path) {
  out.object();
  const auto& [kind, name] = edits.of;
  if (!kind.empty())
    out.key("of").object().member(kind, kind == "file" ? relative(name, path) : name).close();
  out.key("queues").array();
  for (const auto& [rank, line] : edits.queues)
    out.line(4).object().member("rank", rank).member("queue", line).close();
  out.close(2).close();
}

/// An object where there is one, as earlier versions read it.
void write_all_edits(JsonWriter& out, const std::vector<KeptEdits>& all, const std::string& path) {
  if (all.empty()) return;
  out.line(2).key("edits");
  if (all.size() == 1) return write_edits(out, all.front(), path);
  out.array();
  for (const KeptEdits& edits : all) write_edits(out.line(4), edits, path);
  out.close(2);
}

void write_range(JsonWriter& out, const Workspace& workspace) {
  if (!workspace.range) {
    out.null();
    return;
  }
  out.array()
      .ticks(workspace.range->start, workspace.unit)
      .ticks(workspace.range->end, workspace.unit)
      .close();
}

}  // namespace

bool looks_like_workspace(std::string_view text) {
  constexpr std::size_t kHead = 4096;
  return text.substr(0, kHead).find(kVersionKey) != std::string_view::npos;
}

Workspace read_workspace(std::string_view text, const std::string& path) {
  const io::Document document = io::Document::parse(text, path);
  const Value& root = document.root();
  require_version(root);
  Workspace out;
  read_unit(root, out);
  read_object(root, "a workspace", kWorkspaceRows, out, path);
  return out;
}

std::string workspace_text(const Workspace& workspace, const std::string& path) {
  const auto write = [&](JsonWriter& out) {
    out.object().line(2).member(kVersionKey, kVersion);
    if (workspace.configuration)
      out.line(2).key("configuration").raw(inside(config_text(*workspace.configuration), 2));
    if (!workspace.configuration_file.empty())
      out.line(2).member("configuration_file", relative(workspace.configuration_file, path));
    out.line(2).key("files").array();
    for (const std::string& file : workspace.files) out.text(relative(file, path));
    out.close().line(2).member("schedules", workspace.schedules);
    write_snapshots(out.line(2).key("snapshots"), workspace.snapshots);
    write_all_edits(out, workspace.edits, path);
    for (const auto& [key, member] : kNamedRuns) {
      const auto& [kind, name] = workspace.*member;
      if (!kind.empty())
        out.line(2).key(key).object().member(kind, kind == "file" ? relative(name, path) : name).close();
    }
    out.line(2).member("time_unit", name_of(workspace.unit));
    write_range(out.line(2).key("range"), workspace);
    write_marks(out.line(2).key("marks"), workspace);
    write_view(out.line(2).key("view"), workspace.view);
    out.line(2).key("layout").raw(inside(preferences_text(workspace.layout), 2)).close(0);
  };
  return io::written_json(io::JsonStyle{io::JsonSpelling::Window}, write) + "\n";
}

}  // namespace pipeloom::gui
