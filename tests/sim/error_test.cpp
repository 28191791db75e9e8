#include <string>

#include <pipeloom/error.hpp>
#include "support/catch.hpp"

namespace pipeloom::error_test {

using Catch::Matchers::Contains;

TEST_CASE("a place is written as far as it is known") {
  CHECK(Where{"a.json", 12, 5}.text() == "a.json:12:5");
  CHECK(Where{"a.json", 12, 0}.text() == "a.json:12");
  CHECK(Where{"a.json", 0, 5}.text() == "a.json");
  CHECK(Where{}.text().empty());
}

TEST_CASE("an error's line leads with its place") {
  CHECK(InputError(Where{"a.json", 12, 5}, "no").line() == "a.json:12:5: error: no");
  CHECK(InputError("no").line() == "error: no");
}

TEST_CASE("the kind of an error decides the exit code") {
  CHECK(InputError("x").exit_code() == ExitCode::BadInput);
  CHECK(ScheduleError("x").exit_code() == ExitCode::BadInput);
  CHECK(SystemError("x").exit_code() == ExitCode::DeviceFailed);
  CHECK(InternalError("x").exit_code() == ExitCode::Bug);
  CHECK(static_cast<int>(ExitCode::Bug) == 70);
}

TEST_CASE("an unknown name is answered with the nearest and all valid ones") {
  const auto error = InputError::unknown_name(Where{"c.json", 3, 4}, "schedule", "gpip", {"gpipe", "1f1b"});
  CHECK(error.line() ==
        "c.json:3:4: error: unknown schedule 'gpip'; did you mean 'gpipe'? valid: gpipe, 1f1b");
  const auto far = InputError::unknown_name({}, "schedule", "quux", {"gpipe", "1f1b"});
  CHECK(std::string(far.what()) == "unknown schedule 'quux'; valid: gpipe, 1f1b");
}

TEST_CASE("a hostile name is shortened in the message") {
  const auto error = InputError::unknown_name({}, "schedule", std::string(100'000, 'x'), {"gpipe"});
  CHECK(std::string(error.what()).size() < 250);
}

TEST_CASE("messages say what to do") {
  CHECK_THAT(InputError::cannot_read("a.json", "No such file").line(),
             Contains("a.json: error: cannot read it: No such file") && Contains("check the path"));
  CHECK_THAT(InputError::exists("out.svg").line(), Contains("out.svg") && Contains("--force"));
  CHECK_THAT(std::string(SystemError::cannot_write("out.svg", "disk full").what()),
             Contains("out.svg") && Contains("disk full"));
  // 3 * 2^30 bytes and 512 bytes
  CHECK_THAT(std::string(InputError::too_large("the timeline", 3221225472.0, 512.0).what()),
             Contains("the timeline would need about 3.2 GB (3.0 GiB), more than the 512 B allowed"));
}

}  // namespace pipeloom::error_test
