#pragma once

// Files on screen are read again when they change. A file counts as changed once its size and time of change differ from when it was read
// and stayed the same over two looks: half-written files are left alone. No thread: update() looks now and then.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// The fields of stat() that tell if a file has changed.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t inode = 0;  ///< replaced files have another one
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
/// No value if there is no such file (any more).
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::string& path);

/// Decides when a file has changed, from looks at it.
class WatchedFile {
 public:
  explicit WatchedFile(std::optional<FileStamp> now) : read_(now), seen_(now) {}
  /// True once per change: this look saw the same stamp as the one before, and another one than was read.
  [[nodiscard]] bool look(std::optional<FileStamp> now);

 private:
  std::optional<FileStamp> read_;
  std::optional<FileStamp> seen_;
};

class FileWatch : public Part {
 public:
  explicit FileWatch(Session&) {}

  bool on = true;
  /// Between two looks.
  std::chrono::milliseconds interval{500};
  /// Reads a changed file again; by default the commands `open` and `open-below` do. What was on screen stays if that fails.
  std::function<void(Session&, const std::string& path, bool compared)> reload;

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "watch"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void look(Session& session);

  std::map<std::string, WatchedFile> files_;
  std::chrono::steady_clock::time_point next_look_;
  std::size_t reloads_ = 0;
};

}  // namespace pipeloom::gui
