#include "gui/model/files/file_watch.hpp"

#include <sys/stat.h>

#include <set>
#include <utility>

#include "gui/model/session/command.hpp"

namespace pipeloom::gui {

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return FileStamp{static_cast<std::int64_t>(info.st_size),
                   static_cast<std::int64_t>(info.st_mtim.tv_sec) * kNanoseconds + info.st_mtim.tv_nsec,
                   static_cast<std::uint64_t>(info.st_ino)};
}

bool WatchedFile::look(std::optional<FileStamp> now) {
  const bool stable = now == seen_;
  seen_ = now;
  // A file that is gone may be on its way back: editors replace files by renaming.
  if (!stable || !now || now == read_) return false;
  read_ = now;
  return true;
}

bool FileWatch::update(Session& session) {
  const auto now = std::chrono::steady_clock::now();
  if (!on || now < next_look_) return false;
  next_look_ = now + interval;
  const std::size_t before = reloads_;
  look(session);
  return reloads_ != before;
}

void FileWatch::look(Session& session) {
  std::set<std::string> open;
  std::vector<std::pair<std::string, bool>> changed;
  for (const OpenRun& run : session.runs) {
    const std::string& path = run.run->file;
    if (path.empty() || path == "-" || !open.insert(path).second) continue;
    const auto known = files_.find(path);
    if (known == files_.end())
      files_.emplace(path, WatchedFile(stamp_of(path)));
    else if (known->second.look(stamp_of(path)))
      changed.emplace_back(path, run.compared);
  }
  std::erase_if(files_, [&](const auto& file) { return !open.contains(file.first); });
  for (const auto& [path, compared] : changed) {
    ++reloads_;
    if (reload)
      reload(session, path, compared);
    else
      run_command(session, compared ? "open-below" : "open", path);
  }
}

void FileWatch::write_state(const Session&, io::JsonWriter& out) const {
  out.object().member("on", on).key("files").array();
  for (const auto& [path, file] : files_) out.text(path);
  out.close().member("reloads", reloads_).close();
}

}  // namespace pipeloom::gui
