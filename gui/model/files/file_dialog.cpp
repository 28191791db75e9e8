#include "gui/model/files/file_dialog.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

namespace fs = std::filesystem;

/// True for extensions of files that can be opened; contents decide afterwards.
bool may_be_read(const std::string& name) {
  constexpr std::array<std::string_view, 7> kExtensions = {".json", ".csv", ".jsonl", ".txt",
                                                           ".log",  ".gz",  ".sqlite"};
  const std::string folded = lower(name);
  return std::any_of(kExtensions.begin(), kExtensions.end(),
                     [&](std::string_view extension) { return folded.ends_with(extension); });
}

}  // namespace

std::vector<FolderEntry> list_folder(const std::string& folder, bool all) {
  std::vector<FolderEntry> out;
  std::error_code error;
  fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    FolderEntry entry;
    entry.name = at->path().filename().string();
    std::error_code unknown;
    entry.folder = at->is_directory(unknown);
    if (!all && (entry.name.starts_with('.') || (!entry.folder && !may_be_read(entry.name)))) continue;
    out.push_back(std::move(entry));
  }
  std::sort(out.begin(), out.end(), [](const FolderEntry& a, const FolderEntry& b) {
    return a.folder != b.folder ? a.folder : a.name < b.name;
  });
  if (fs::path(folder).has_relative_path()) out.insert(out.begin(), FolderEntry{"..", true});
  return out;
}

std::vector<FolderEntry> matching(const std::vector<FolderEntry>& entries, std::string_view filter) {
  std::vector<FolderEntry> out;
  const std::string wanted = lower(filter);
  std::copy_if(entries.begin(), entries.end(), std::back_inserter(out), [&](const FolderEntry& entry) {
    return entry.name == ".." || lower(entry.name).find(wanted) != std::string::npos;
  });
  return out;
}

void FileDialog::show(Session& session) {
  open_ = true;
  take_folder_ = nullptr;
  std::string from = session.active_run() == nullptr ? "" : session.active_run()->file;
  if (from.empty() && !session.preferences.recent.empty()) from = session.preferences.recent.front();
  if (!open_in_.empty() && from.empty()) return go_to(open_in_);
  std::error_code error;
  const fs::path parent = fs::absolute(fs::path(from.empty() ? "." : from), error);
  go_to(from.empty() ? parent.lexically_normal().string() : parent.parent_path().lexically_normal().string());
}

void FileDialog::pick_folder(const std::string& from,
                             std::function<void(Session&, const std::string&)> take) {
  open_ = true;
  take_folder_ = std::move(take);
  go_to(from);
}

void FileDialog::accept_folder(Session& session) {
  open_ = false;
  std::exchange(take_folder_, nullptr)(session, folder_);
}

void FileDialog::go_to(const std::string& folder) {
  folder_ = folder.size() > 1 && folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
  if (!take_folder_) open_in_ = folder_;
  filter_.clear();
  refresh();
}

void FileDialog::refresh() {
  listed_ = list_folder(folder_, all_);
  if (take_folder_) std::erase_if(listed_, [](const FolderEntry& entry) { return !entry.folder; });
  set_filter(filter_);
}

void FileDialog::set_filter(const std::string& filter) {
  filter_ = filter;
  shown_ = matching(listed_, filter_);
  // With a filter, the first entry that it found is meant, not the way up.
  chosen_ = !filter_.empty() && shown_.size() > 1 && shown_.front().name == ".." ? 1 : 0;
}

void FileDialog::show_all(bool all) {
  all_ = all;
  refresh();
}

void FileDialog::step(int by) {
  const auto last = static_cast<std::int64_t>(shown_.size()) - 1;
  chosen_ = static_cast<std::size_t>(
      std::clamp<std::int64_t>(static_cast<std::int64_t>(chosen_) + by, 0, std::max<std::int64_t>(last, 0)));
}

void FileDialog::accept(Session& session, bool compared) {
  if (picks_folder() && filter_.empty()) return accept_folder(session);
  if (filter_.find('/') != std::string::npos) {
    const std::string path = (fs::path(folder_) / filter_).lexically_normal().string();
    std::error_code error;
    if (fs::is_directory(path, error)) return go_to(path);
    return picks_folder() ? session.say(path + " is no folder", MessageKind::Problem)
                          : open_file(session, path, compared);
  }
  if (chosen_ >= shown_.size()) return;
  const FolderEntry& entry = shown_[chosen_];
  if (entry.folder) return enter();
  open_file(session, (fs::path(folder_) / entry.name).string(), compared);
}

void FileDialog::enter() {
  if (chosen_ < shown_.size() && shown_[chosen_].folder)
    go_to((fs::path(folder_) / shown_[chosen_].name).lexically_normal().string());
}

void FileDialog::open_file(Session& session, const std::string& path, bool compared) {
  open_ = false;
  run_command(session, compared ? "open-below" : "open", path);
}

void FileDialog::write_state(const Session&, io::JsonWriter& out) const {
  out.object()
      .member("open", open_)
      .member("picks_folder", picks_folder())
      .member("folder", folder_)
      .member("filter", filter_)
      .member("chosen", chosen_ < shown_.size() ? shown_[chosen_].name : "")
      .member("entries", shown_.size())
      .close();
}

}  // namespace pipeloom::gui
