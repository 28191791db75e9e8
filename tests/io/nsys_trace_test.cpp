// Databases as Nsight Systems exports them, made with the tables and columns that are read.

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace nsys_trace_test {

using namespace pipeloom;

namespace {

/// One database per rank in a folder of its own that is gone afterwards.
class ProfileFolder {
 public:
  ProfileFolder() : path_(test::temporary_path("nsys_trace_test")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ProfileFolder() { std::filesystem::remove_all(path_); }
  ProfileFolder(const ProfileFolder&) = delete;
  ProfileFolder& operator=(const ProfileFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& statements) const {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(file(name).c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_close(database) == SQLITE_OK);
  }

 private:
  std::filesystem::path path_;
};

const std::string kRangeTables =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, text TEXT, globalTid "
    "INT, textId INT);";
const std::string kKernelTables =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId "
    "INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, correlationId INT, globalPid "
    "INT, shortName INT);";

/// A range of process 5, thread 9, whose name stands in the row.
std::string range(const std::string& name, int start, int end) {
  return "INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(start) + "," + std::to_string(end) + ",59,'" +
         name + "'," + std::to_string((5LL << 24) + 9) + ",NULL);";
}
/// A kernel that thread 10 of the process starts at `launch` and the device runs from `start` to `end`.
std::string kernel(int id, int launch, int start, int end, int name) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + std::to_string(launch) + "," +
         std::to_string(launch + 1) + "," + std::to_string((5LL << 24) + 10) + "," + std::to_string(id) +
         ",0);" + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + "," +
         std::to_string(end) + ",0," + std::to_string(id) + "," + std::to_string(5LL << 24) + "," +
         std::to_string(name) + ");";
}

/// A timeline of nanoseconds.
Timeline timeline_of(const std::string& rows) {
  return io::read_timeline("{\"time_unit\":\"ns\"}\n" + rows, "t.jsonl").timeline;
}

}  // namespace

TEST_CASE("Ranges of a profile become a timeline, one file per rank") {
  const ProfileFolder folder;
  // One name stands in the table of strings instead.
  folder.write("rank0.sqlite", kRangeTables + range("PP:0F0", 100, 110) + range("forward", 100, 105) +
                                   "INSERT INTO StringIds VALUES (3,'PP:0B0');"
                                   "INSERT INTO NVTX_EVENTS VALUES (150,170,59,NULL,83886089,3);");
  folder.write("rank1.sqlite", kRangeTables + range("PP:1F0", 112, 122) + range("PP:1B0", 122, 142));
  const io::Trace trace = io::read_trace({folder.path()});
  CHECK(trace.format == "nsys");
  const Timeline run = io::assemble(trace).timeline;
  const Timeline expected = timeline_of(
      "{\"rank\":0,\"op\":\"0F0\",\"start\":0,\"end\":10}\n{\"rank\":0,\"op\":\"0B0\",\"start\":50,\"end\":"
      "70}\n"
      "{\"rank\":1,\"op\":\"1F0\",\"start\":12,\"end\":22}\n{\"rank\":1,\"op\":\"1B0\",\"start\":22,\"end\":"
      "42}\n");
  CHECK(run.start == expected.start);
  CHECK(run.end == expected.end);
  CHECK(std::ranges::equal(run.schedule->ops(), expected.schedule->ops()));
  // The host's times are not the device's, which is said once.
  REQUIRE(trace.warnings.size() == 1);
  CHECK(trace.warnings[0].find("times are the host's") != std::string::npos);
}

TEST_CASE("Where kernels were recorded an op lasts from its first to its last, NCCL's left out") {
  const ProfileFolder folder;
  folder.write("rank0.sqlite", kRangeTables + kKernelTables +
                                   "INSERT INTO StringIds VALUES (1,'gemm'),(2,'ncclDevKernel_SendRecv');" +
                                   range("F0.0.0", 100, 110) + range("B0.0.0", 110, 130) +
                                   range("W0.0.0", 130, 140) +
                                   // F runs two kernels, B one and one of NCCL, W none.
                                   kernel(1, 101, 200, 220, 1) + kernel(2, 109, 225, 240, 1) +
                                   kernel(3, 115, 240, 300, 1) + kernel(4, 120, 300, 900, 2) +
                                   // Started outside of all ranges.
                                   kernel(5, 141, 950, 960, 1));
  const io::Trace trace = io::read_trace({folder.path()});
  CHECK(trace.warnings.empty());
  REQUIRE(trace.ranks.size() == 1);
  const auto& ops = trace.ranks[0].ops;
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].start == 200'000);
  CHECK(ops[0].end == 240'000);
  // B is the first half of a backward pass where W is there too.
  CHECK(ops[1].kind == OpKind::BackwardInput);
  CHECK(ops[1].start == 240'000);
  CHECK(ops[1].end == 300'000);
  CHECK(ops[2].kind == OpKind::BackwardWeight);
  CHECK(ops[2].start == 300'000);
  CHECK(ops[2].end == 300'000);
}

TEST_CASE("Databases without ranges of a pipeline are refused") {
  const ProfileFolder folder;
  const auto refusal = [&](const std::string& statements) -> std::string {
    std::filesystem::remove(folder.file("rank0.sqlite"));
    folder.write("rank0.sqlite", statements);
    try {
      (void)io::read_trace({folder.file("rank0.sqlite")});
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal("CREATE TABLE StringIds (id INT, value TEXT);")
            .starts_with("the database has no ranges; record them"));
  CHECK(refusal(kRangeTables + range("attention", 0, 1))
            .starts_with("no range of a pipeline among its NVTX ranges"));
  CHECK(
      refusal(kRangeTables + range("PP:0F0", 0, 1) +
              "INSERT INTO NVTX_EVENTS VALUES (9223372036854775807,9223372036854775807,59,'PP:0B0',5,NULL);")
          .starts_with("a range lies years"));
}

TEST_CASE("A damaged database is refused in one line") {
  const ProfileFolder folder;
  folder.write("rank0.sqlite", kRangeTables + range("PP:0F0", 0, 1));
  std::filesystem::resize_file(folder.file("rank0.sqlite"), 4096);
  CHECK_THROWS_AS(io::read_trace({folder.file("rank0.sqlite")}), InputError);
}

}  // namespace nsys_trace_test
