#include "gui/model/panels/notes.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <pipeloom/error.hpp>
#include "gui/model/chart/navigation.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"

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
  return io::written_json(
             io::JsonStyle{io::JsonSpelling::Window},
             [&](io::JsonWriter& out) {
               out.object().line(2).member("schema_version", 1);
               out.line(2).member("file", file.substr(file.rfind('/') + 1));
               out.line(2).member("time_unit", name_of(unit)).line(2).key("notes").array();
               for (const Mark& mark : persistent_of(marks))
                 out.line(4).object().key("time").ticks(mark.time, unit).member("text", mark.note).close();
               out.close(2).close(0);
             }) +
         "\n";
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

void Notes::write_state(const Session&, io::JsonWriter& out) const {
  out.object()
      .member("file", file_.empty() ? "" : notes_path(file_))
      .member("kept", kept_.size())
      .member("locked", locked_)
      .close();
}

namespace {

/// Share of the view within which a time is "the same" as a mark's.
constexpr double kNear = 0.003;

}  // namespace

void add_mark(Session& session, Mark mark) {
  std::erase_if(session.marks, [&](const Mark& old) { return old.time == mark.time; });
  const auto upper = std::upper_bound(session.marks.begin(), session.marks.end(), mark,
                                      [](const Mark& a, const Mark& b) { return a.time < b.time; });
  session.marks.insert(upper, std::move(mark));
}

void toggle_mark(Session& session, Ticks time, bool persistent) {
  const auto near = mark_near(session, static_cast<double>(time), kNear * session.view.range.length());
  if (near && session.marks[*near].persistent == persistent)
    session.marks.erase(session.marks.begin() + static_cast<std::ptrdiff_t>(*near));
  else
    add_mark(session,
             {near ? session.marks[*near].time : time, near ? session.marks[*near].note : "", persistent});
}

std::optional<std::size_t> mark_near(const Session& session, double time, double distance) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < session.marks.size(); ++i) {
    const double away = std::abs(static_cast<double>(session.marks[i].time) - time);
    if (away > distance) continue;
    distance = away;
    best = i;
  }
  return best;
}

bool jump_to_mark(Session& session, bool forward) {
  const TimeRange view = session.view.range;
  const double middle = (view.start + view.end) / 2;
  // The smallest distance that the view can resolve: a mark in the middle already is not the next one.
  const double here = view.length() * 1e-6;
  const Mark* found = nullptr;
  for (const Mark& mark : session.marks) {
    const double away = static_cast<double>(mark.time) - middle;
    if (forward && away > here && found == nullptr) found = &mark;
    if (!forward && away < -here) found = &mark;
  }
  if (found == nullptr) return false;
  const double start = static_cast<double>(found->time) - view.length() / 2;
  show_range(session, {start, start + view.length()});
  return true;
}

Ticks time_for_mark(Session& session) {
  if (const auto time = session.part<PointerPart>().time) return nearest_tick(*time);
  if (const auto span = selected_span(session)) return span->start;
  return nearest_tick((session.view.range.start + session.view.range.end) / 2);
}

Ticks parse_time(const Session& session, std::string_view text) {
  const RunModel* run = session.active_run();
  const TimeUnit unit = run == nullptr ? TimeUnit::Unit : run->timeline.unit;
  const auto time = parse_ticks(text, unit);
  if (!time)
    throw InputError("found '" + shortened(text, 40) + "'; allowed is a time in " +
                     std::string(name_of(unit)) + " such as 12.5");
  return time->value;
}

Span parse_span(const Session& session, const char* command, std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const Ticks start = parse_time(session, text.substr(0, blank));
  const Ticks end = parse_time(session, text.substr(std::min(blank + 1, text.size())));
  if (end <= start)
    throw InputError(Where{command}, "found '" + shortened(text, 40) + "'; the end must be after the start");
  return {start, end};
}

}  // namespace pipeloom::gui
