#include "study/sweep/result/merge.hpp"

#include "support/catch.hpp"
#include "support/sweep_files.hpp"

namespace merge_test {

using namespace pipeloom;
using namespace pipeloom::sweep;
using test::lines_in;
using test::put;
using test::swept;
using test::text_of;

namespace {

/// The whole result and `count` shards of the small grid, in a folder of their own.
struct Shards {
  explicit Shards(const std::string& name, int count, ResultFormat format = ResultFormat::JsonLines)
      : folder(name) {
    SweepOptions options;
    options.threads = 1;
    options.format = format;
    options.out = folder / "whole";
    whole = swept(test::small_grid(), options);
    for (int i = 1; i <= count; ++i) {
      options.shard = Shard{i, count};
      options.out = folder / ("part" + std::to_string(i));
      static_cast<void>(swept(test::small_grid(), options));
      files.push_back(options.out);
    }
  }
  [[nodiscard]] std::string refusal(const std::vector<std::string>& parts) const {
    try {
      static_cast<void>(merge(parts, folder / "merged", false));
    } catch (const InputError& error) {
      CHECK_FALSE(std::filesystem::exists(folder / "merged"));
      return error.line();
    }
    return "";
  }

  test::Folder folder;
  std::string whole;
  std::vector<std::string> files;
};

/// A line of a file, replaced.
void edit(const std::string& path, std::size_t line, const std::string& text) {
  std::vector<std::string> lines = lines_in(text_of(path));
  lines[line] = text;
  std::string out;
  for (const std::string& one : lines) out += one.empty() ? "" : one + '\n';
  put(path, out);
}

}  // namespace

TEST_CASE("Shards become the bytes of one run") {
  for (const ResultFormat format : {ResultFormat::JsonLines, ResultFormat::Csv})
    for (const int count : {1, 2, 7, 40}) {
      Shards shards("merge", count, format);
      std::reverse(shards.files.begin(), shards.files.end());
      const MergeSummary summary = merge(shards.files, shards.folder / "merged", false);
      CHECK(summary.points == 22);
      CHECK(summary.files == count);
      CHECK(text_of(shards.folder / "merged") == shards.whole);
    }
}

TEST_CASE("A whole result is its own merge") {
  const Shards shards("merge-one", 1);
  CHECK(merge({shards.folder / "whole"}, shards.folder / "merged", false).points == 22);
  CHECK(text_of(shards.folder / "merged") == shards.whole);
}

TEST_CASE("What is missing is named") {
  const Shards shards("merge-missing", 3);
  const std::string refusal = shards.refusal({shards.files[0], shards.files[2]});
  CHECK(refusal.find("of 22 points are missing") != std::string::npos);
  CHECK(refusal.find("there is none of 2/3") != std::string::npos);

  std::vector<std::string> lines = lines_in(text_of(shards.files[1]));
  REQUIRE(lines.size() > 3);
  put(shards.files[1], lines[0] + '\n' + lines[1] + '\n');
  const std::string cut = shards.refusal(shards.files);
  CHECK(cut.find("incomplete: " + std::to_string(lines.size() - 2) + " of 22 points are missing") !=
        std::string::npos);
  CHECK(cut.find(shards.files[1] + " (shard 2/3) ends before it: go on with `pipeloom sweep --resume`") !=
        std::string::npos);

  put(shards.files[1], lines[0] + '\n' + lines[1]);
  CHECK(shards.refusal(shards.files).find(":2: error: this line has no end") != std::string::npos);
}

TEST_CASE("A line that was removed from the middle is missed") {
  const Shards shards("merge-hole", 2);
  edit(shards.files[0], 3, "");
  CHECK(shards.refusal(shards.files).find("incomplete: 1 of 22 points are missing") != std::string::npos);
  CHECK(shards.refusal(shards.files).find("lines are missing within a file") != std::string::npos);
}

TEST_CASE("What comes twice is refused") {
  const Shards shards("merge-twice", 2);
  CHECK(shards.refusal({shards.files[0], shards.files[1], shards.files[0]}).find("shard 1/2 is in") !=
        std::string::npos);
  CHECK(shards.refusal({shards.files[0], shards.folder / "whole"}).find("give the shards of one division") !=
        std::string::npos);
  const std::vector<std::string> lines = lines_in(text_of(shards.files[0]));
  edit(shards.files[0], 3, lines[2]);
  CHECK(shards.refusal(shards.files).find(":4: error: point ") != std::string::npos);
}

TEST_CASE("Lines of another shard are refused") {
  const Shards shards("merge-wrong", 2);
  const std::vector<std::string> other = lines_in(text_of(shards.files[1]));
  edit(shards.files[0], 1, other[1]);
  CHECK(shards.refusal(shards.files).find("is no part of shard 1/2") != std::string::npos);
}

TEST_CASE("Results of different sweeps are not mixed") {
  const Shards shards("merge-mixed", 2);
  const std::string original = text_of(shards.files[1]);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = original;
    text.replace(text.find(from), from.size(), to);
    put(shards.files[1], text);
    return shards.refusal(shards.files);
  };
  CHECK(with("\"version\": \"", "\"version\": \"9").find("its version is 9") != std::string::npos);
  CHECK(with("\"grid\": \"", "\"grid\": \"9").find("its grid is 9") != std::string::npos);
  CHECK(with("\"makespan\", ", "").find("its list of metrics is bubble_ratio") != std::string::npos);
  CHECK(with("\"points\": 22", "\"points\": 23").find("its number of points is 23, that of") !=
        std::string::npos);
  put(shards.files[1], "rank,op\n");
  CHECK(shards.refusal(shards.files).find("this is no result of a sweep") != std::string::npos);
  put(shards.files[1], "");
  CHECK(shards.refusal(shards.files).find("it is empty") != std::string::npos);
  CHECK(shards.refusal({}).find("nothing to merge") != std::string::npos);
}

TEST_CASE("An existing file is replaced only by force") {
  const Shards shards("merge-force", 2);
  put(shards.folder / "merged", "mine");
  CHECK_THROWS_AS(merge(shards.files, shards.folder / "merged", false), InputError);
  CHECK(text_of(shards.folder / "merged") == "mine");
  static_cast<void>(merge(shards.files, shards.folder / "merged", true));
  CHECK(text_of(shards.folder / "merged") == shards.whole);
}

}  // namespace merge_test
