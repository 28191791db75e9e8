#include "gui/model/panels/notes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "gui/model/panels/marks.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::size_t kMaxSidecarBytes = std::size_t{16} << 20;

const io::Value& member(const io::Value& object, std::string_view key, io::ValueKind kind) {
  const io::Value* value = object.is(io::ValueKind::Object) ? object.find(key) : nullptr;
  if (value != nullptr && value->is(kind)) return *value;
  const io::Value& found = value == nullptr ? object : *value;
  throw InputError(found.where(), "found " + found.described() + "; notes want \"" + std::string(key) +
                                      "\" to be " + std::string(io::name_of(kind)));
}

TimeUnit unit_of(const io::Value& root) {
  const io::Value& value = member(root, "time_unit", io::ValueKind::String);
  const auto unit = time_unit_named(value.text());
  if (!unit)
    throw InputError::unknown_name(value.where(), "time unit", value.text(), {"unit", "s", "ms", "us", "ns"});
  return *unit;
}

Mark read_note(const io::Value& value, TimeUnit unit) {
  const io::Value& number = member(value, "time", io::ValueKind::Number);
  const auto time = parse_ticks(number.text(), unit);
  if (!time || time->value < 0)
    throw InputError(number.where(), "found " + number.described() + "; a note's time is not negative");
  return {time->value, member(value, "text", io::ValueKind::String).text(), true};
}

std::vector<Mark> persistent_of(const std::vector<Mark>& marks) {
  std::vector<Mark> out;
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(out),
               [](const Mark& mark) { return mark.persistent; });
  return out;
}

}  // namespace

std::string notes_path(std::string_view file) {
  return std::string(file) + ".pipeloom-notes.json";
}

std::vector<Mark> read_notes(std::string_view text, const std::string& name, TimeUnit unit) {
  const io::Document document = io::Document::parse(text, name);
  const TimeUnit written = unit_of(document.root());
  const bool as_number = written == TimeUnit::Unit || unit == TimeUnit::Unit;
  std::vector<Mark> marks;
  for (const io::Value& note : member(document.root(), "notes", io::ValueKind::Array).items())
    marks.push_back(read_note(note, as_number ? unit : written));
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; });
  return marks;
}

std::string notes_text(const std::vector<Mark>& marks, std::string_view file, TimeUnit unit) {
  // Times by hand: exact decimals.
  const auto quoted = [](std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const std::string name(file.substr(file.rfind('/') + 1));
  std::string out = "{\n  \"schema_version\": 1,\n  \"file\": " + quoted(name) +
                    ",\n  \"time_unit\": " + quoted(name_of(unit)) + ",\n  \"notes\": [";
  const char* separator = "\n    ";
  for (const Mark& mark : persistent_of(marks)) {
    out += separator + ("{\"time\": " + format_ticks(mark.time, unit)) + ", \"text\": " + quoted(mark.note) +
           "}";
    separator = ",\n    ";
  }
  return out + (separator[0] == ',' ? "\n  ]\n}\n" : "]\n}\n");
}

bool Notes::update(Session& session) {
  const RunModel* run = session.active_run();
  const std::string file = run == nullptr || run->file == "-" ? "" : run->file;
  if (run != nullptr) unit_ = run->timeline.unit;
  if (file != file_) {
    write(session);
    file_ = file;
    read(session);
    return true;
  }
  write(session);
  return false;
}

void Notes::read(Session& session) {
  std::erase_if(session.marks, [](const Mark& mark) { return mark.persistent; });
  kept_.clear();
  locked_ = false;
  const std::string path = notes_path(file_);
  std::string text;
  if (file_.empty()) return;
  try {
    text = io::read_file(path, kMaxSidecarBytes);
  } catch (const Error&) {
    return;  // no notes yet
  }
  try {
    kept_ = read_notes(text, path, unit_);
  } catch (const Error& error) {
    locked_ = true;
    session.say(error.line() + "; the file stays as it is, and new notes are not kept", MessageKind::Problem);
  }
  for (const Mark& mark : kept_) add_mark(session, mark);
}

void Notes::write(Session& session) {
  if (file_.empty() || locked_) return;
  auto now = persistent_of(session.marks);
  if (now == kept_) return;
  kept_ = std::move(now);
  const std::string text = notes_text(kept_, file_, unit_);
  try {
    io::write_file(notes_path(file_), io::Overwrite::Yes, [&](std::ostream& out) { out << text; });
  } catch (const Error& error) {
    locked_ = true;
    session.say(error.line() + "; notes are not kept", MessageKind::Problem);
  }
}

std::string Notes::state_json(const Session&) const {
  return nlohmann::ordered_json{
      {"file", file_.empty() ? "" : notes_path(file_)}, {"kept", kept_.size()}, {"locked", locked_}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pipeloom::gui
