#pragma once

// The timelines as files, of the visible part or of everything: pictures (SVG, PNG, PDF) of all runs on screen, in the window's colours, and
// tables (CSV) of the active run.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "sim/draw/scene.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {

/// A length as people give it for paper or for a screen.
struct ExportSize {
  enum class Unit : unsigned char { Pixels, Millimetres };
  /// 0: chosen from the number of ranks and ops.
  double width = 0;
  double height = 0;
  Unit unit = Unit::Pixels;
  friend bool operator==(const ExportSize&, const ExportSize&) = default;
  /// In CSS pixels, 1/96 inch, the unit of the layout of pictures. 25.4 mm are 96.
  [[nodiscard]] double width_pixels() const { return pixels(width); }
  [[nodiscard]] double height_pixels() const { return pixels(height); }

 private:
  [[nodiscard]] double pixels(double length) const {
    return unit == Unit::Pixels ? length : length / 25.4 * 96;
  }
};

/// CSS pixels as millimetres.
[[nodiscard]] inline double millimetres(double pixels) {
  return pixels / 96 * 25.4;
}

struct ExportOptions {
  /// Only the visible part (time range, ranks that are not hidden), or the whole runs.
  bool view_only = false;
  /// Leaves the other runs on screen out of a picture.
  bool active_only = false;
  /// Draws marks, with their notes below the picture, and the time cursor.
  bool with_marks = true;
  ExportSize size;
  std::string caption;
  /// No value: that of the window. Pictures for paper want light.
  std::optional<bool> dark;
};

/// The data that a writer needs of a session, which nothing changes meanwhile: made on the frame thread, used by a job.
struct ExportJob {
  struct Run {
    RunPtr run;
    draw::SceneOptions scene;
    /// Colours of ops, where pictures have no such colours by themselves; null elsewhere.
    std::shared_ptr<const draw::OwnColours> colours;
    /// [rank]: true if tables have its rows.
    std::vector<bool> shown;
  };
  ExportOptions options;
  /// The run that tables show.
  Run active;
  /// The runs that pictures show, from the top.
  std::vector<Run> stack;
  /// Some run is coloured by kind, as its slack is not known.
  bool without_slack = false;
};

/// Throws InputError if no run is active, or nothing is in view and only that is wanted.
[[nodiscard]] ExportJob export_job(Session& session, const ExportOptions& options);

/// The picture of a job. Throws InputError where it would be too small.
[[nodiscard]] draw::Scene export_scene(const ExportJob& job);

/// The format of an export: by the path's extension. Throws InputError naming those there are.
[[nodiscard]] const io::Format& export_format(const std::string& path);

/// Writes by the path's extension: .svg, .png, .pdf, .csv (a row per op), .jsonl, .trace.json and every format that `convert` writes from
/// times. Throws InputError for a file that is there and may not be replaced, for other extensions (naming those there are), for pictures that
/// are too large and, before anything is computed, for texts above io::kMaxTimelineBytes; SystemError if the disk refuses.
void write_export(const ExportJob& job, const std::string& path, io::Overwrite overwrite);
/// Describes what is written, where that is not plain: "3 runs", "1f1b p=4 m=8, the active one of 3 runs"; else "".
[[nodiscard]] std::string what_is_written(const Session& session, const ExportJob& job,
                                          const std::string& path);

/// Describes the picture to the user who is about to write it: "2 runs, 0 ms to 41.2 ms, dark, 3 marks, cursor".
[[nodiscard]] std::string picture_content(Session& session, const ExportOptions& options);

/// The rows that are visible as a table with tabs, heading first: rank, op, start, end, duration; for the clipboard. At most `most` rows,
/// in order of rank and start.
[[nodiscard]] std::string visible_rows(Session& session, std::size_t most = 100'000);

/// State of the dialog for exports.
class ExportPart : public Part {
 public:
  explicit ExportPart(Session&) { options.dark = false; }

  bool dialog_open = false;
  std::string path;
  ExportOptions options;  ///< light at first: most pictures are for paper
  bool own_size = false;  ///< the dialog has fields for width and height

  /// Opens the dialog. A name that nothing has yet is proposed where the user has chosen none.
  void show(Session& session);
  /// Puts the file in another folder.
  void move_to(const std::string& folder);
  /// Gives the file another extension: ".png".
  void take_extension(std::string_view extension);
  /// The dialog to choose a folder was open in the frame before: Esc closes that first.
  bool folder_was_open = false;

  /// True if the file of that name was written here.
  [[nodiscard]] bool wrote(const std::string& to) const { return own_.contains(to); }
  /// Writes in a job; the status line tells the result. Throws InputError if no run is active or the extension is unknown.
  void start(Session& session, const std::string& to, const ExportOptions& with, io::Overwrite overwrite);
  [[nodiscard]] std::string_view state_key() const override { return "export"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  std::size_t written_ = 0;
  std::string last_;
  std::set<std::string> own_;
};

}  // namespace pipeloom::gui
