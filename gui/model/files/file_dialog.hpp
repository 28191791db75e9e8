#pragma once

// Choosing a file by folder and filter, without a window: the content of the dialog and the actions of its keys.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// One line of the dialog.
struct FolderEntry {
  std::string name;
  bool folder = false;
  friend bool operator==(const FolderEntry&, const FolderEntry&) = default;
};

/// Files that Pipeloom may read (by extension) and folders, folders first, both by name; hidden ones are left out unless `all`. ".." comes
/// first where there is a folder above. Empty if the folder cannot be read.
[[nodiscard]] std::vector<FolderEntry> list_folder(const std::string& folder, bool all);
/// Those whose name contains `filter`, case ignored.
[[nodiscard]] std::vector<FolderEntry> matching(const std::vector<FolderEntry>& entries,
                                                std::string_view filter);

class FileDialog : public Part {
 public:
  explicit FileDialog(Session&) {}

  [[nodiscard]] bool is_open() const { return open_; }
  /// Opens the dialog in the folder of the active run's file, of the last file opened, or the current one.
  void show(Session& session);
  void hide() { open_ = false; }
  /// Opens the dialog to choose a folder, in `from`; `take` gets the one that is chosen.
  void pick_folder(const std::string& from, std::function<void(Session&, const std::string&)> take);
  /// True while a folder is chosen: files are left out.
  [[nodiscard]] bool picks_folder() const { return open_ && static_cast<bool>(take_folder_); }
  /// Chooses the folder that is shown, and closes the dialog. REQUIRES: picks_folder().
  void accept_folder(Session& session);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  void go_to(const std::string& folder);
  [[nodiscard]] const std::string& filter() const { return filter_; }
  void set_filter(const std::string& filter);
  [[nodiscard]] bool shows_all() const { return all_; }
  void show_all(bool all);

  /// The entries that pass the filter, in order.
  [[nodiscard]] const std::vector<FolderEntry>& entries() const { return shown_; }
  [[nodiscard]] std::size_t chosen() const { return chosen_; }
  void choose(std::size_t entry) { chosen_ = entry; }
  /// Moves the choice by `by` lines; stays within the list.
  void step(int by);
  /// Enter: goes into the chosen folder, or opens the chosen file and closes the dialog. A filter that is a path opens that. Without a filter, the
  /// folder shown is chosen where one is wanted.
  void accept(Session& session, bool compared);
  /// Goes into the chosen folder.
  void enter();
  /// Opens one of the recent files and closes the dialog.
  void open_file(Session& session, const std::string& path, bool compared);

  [[nodiscard]] std::string_view state_key() const override { return "open_dialog"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void refresh();

  std::function<void(Session&, const std::string&)> take_folder_;
  bool open_ = false;
  bool all_ = false;
  std::string folder_;
  std::string open_in_;  // the folder of the file that was opened last
  std::string filter_;
  std::vector<FolderEntry> listed_;
  std::vector<FolderEntry> shown_;
  std::size_t chosen_ = 0;
};

}  // namespace pipeloom::gui
