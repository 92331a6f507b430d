#include "storage/sqlite/writer.h"

#include <atomic>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/notification.h"
#include "proto/wire/error.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

class SqliteWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto database = Database::Open(directory_.path() + "/test.db", Durability::kFull);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->Execute("CREATE TABLE a (x INTEGER PRIMARY KEY)").ok());
    writer_ = std::make_unique<SqliteWriter>(*std::move(database));
  }

  absl::Status Insert(int64_t value) {
    return writer_->database().Execute("INSERT INTO a VALUES (?)", value);
  }
  std::string Values() {
    std::string values;
    EXPECT_TRUE(writer_
                    ->Write([&]() -> absl::Status {
                      PLAIT_ASSIGN_OR_RETURN(
                          Statement statement,
                          writer_->database().Query("SELECT group_concat(x) FROM a"));
                      PLAIT_RETURN_IF_ERROR(statement.Step().status());
                      values = statement.Text(0);
                      return absl::OkStatus();
                    })
                    .ok());
    return values;
  }

  // Keeps the writer inside one operation from its construction to Proceed, so that what is written
  // meanwhile meets in one batch.
  class Holder {
   public:
    explicit Holder(SqliteWriter& writer, absl::FunctionRef<absl::Status()> operation)
        : thread_([this, &writer, operation] {
            EXPECT_TRUE(writer
                            .Write([&] {
                              started_.Notify();
                              proceed_.WaitForNotification();
                              return operation();
                            })
                            .ok());
          }) {
      started_.WaitForNotification();
    }
    void Proceed() {
      proceed_.Notify();
      thread_.join();
    }

   private:
    absl::Notification started_;
    absl::Notification proceed_;
    std::thread thread_;
  };

  static absl::Status Nothing() { return absl::OkStatus(); }

  TemporaryDirectory directory_;
  std::unique_ptr<SqliteWriter> writer_;
};

TEST_F(SqliteWriterTest, UndoesAFailedOperationAlone) {
  const absl::Status status = writer_->Write([&]() -> absl::Status {
    PLAIT_RETURN_IF_ERROR(Insert(1));
    return absl::AbortedError("no");
  });
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_TRUE(writer_->Write([&] { return Insert(2); }).ok());
  EXPECT_EQ(Values(), "2");
}

TEST_F(SqliteWriterTest, KeepsFailuresOfConcurrentOperationsApart) {
  const auto insert = [&] { return Insert(0); };
  Holder holder(*writer_, insert);
  std::vector<std::thread> callers;
  for (int64_t value = 1; value <= 8; ++value) {
    callers.emplace_back([&, value] {
      const absl::Status status = writer_->Write([&] {
        return value % 4 == 0 ? Insert(0) : Insert(value);  // 0 is taken: a failure of its own
      });
      EXPECT_EQ(status.ok(), value % 4 != 0) << status;
    });
  }
  holder.Proceed();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(Values(), "0,1,2,3,5,6,7");
}

// What SQLite does by itself when the disk is full: the transaction is gone, and what comes after
// it in the batch must not be stored by a transaction of its own while its caller is told of an
// error.
TEST_F(SqliteWriterTest, StoresNothingOfABatchWhoseTransactionIsGone) {
  Holder holder(*writer_, Nothing);
  // Delayed operations run first, so this one meets the others in one batch.
  EXPECT_TRUE(writer_
                  ->WriteSoon(
                      "",
                      [&]() -> absl::Status {
                        PLAIT_RETURN_IF_ERROR(writer_->database().Execute("ROLLBACK"));
                        return absl::ResourceExhaustedError("the disk is full");
                      },
                      nullptr)
                  .ok());
  std::vector<std::thread> callers;
  std::atomic<int> queued = 0;
  for (int64_t value = 1; value <= 2; ++value) {
    callers.emplace_back([&, value] {
      ++queued;
      const absl::Status status = writer_->Write([&] { return Insert(value); });
      EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_STORAGE_UNAVAILABLE) << status;
    });
  }
  while (queued < 2) std::this_thread::yield();
  absl::SleepFor(absl::Milliseconds(50));  // from the count to the queue
  holder.Proceed();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(Values(), "");
  // Whoever met the full disk says so.
  EXPECT_TRUE(absl::IsResourceExhausted(writer_->Flush()));
  EXPECT_TRUE(writer_->Write([&] { return Insert(3); }).ok());
  EXPECT_EQ(Values(), "3");
}

TEST_F(SqliteWriterTest, WritesDelayedOperationsBeforeLaterOnes) {
  std::vector<int> order;
  std::atomic<int> committed = 0;
  for (int value : {1, 2, 3}) {
    ASSERT_TRUE(writer_
                    ->WriteSoon(
                        "",
                        [&order, value] {
                          order.push_back(value);
                          return absl::OkStatus();
                        },
                        [&] { ++committed; })
                    .ok());
  }
  ASSERT_TRUE(writer_
                  ->Write([&] {
                    order.push_back(4);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(committed, 3);
}

TEST_F(SqliteWriterTest, MergesDelayedOperationsWithTheSameKey) {
  Holder holder(*writer_, Nothing);
  std::vector<std::string> ran;
  const auto delay = [&](absl::string_view key, const std::string& name) {
    const auto operation = [&ran, name] {
      ran.push_back(name);
      return absl::OkStatus();
    };
    EXPECT_TRUE(writer_->WriteSoon(key, operation, nullptr).ok());
  };
  delay("a", "a1");
  delay("", "phase");
  delay("b", "b1");
  delay("a", "a2");
  holder.Proceed();
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(ran, (std::vector<std::string>{"phase", "b1", "a2"}));
}

TEST_F(SqliteWriterTest, TellsErrorsOfDelayedOperationsOnce) {
  ASSERT_TRUE(writer_
                  ->WriteSoon(
                      "", [] { return absl::DataLossError("x"); }, nullptr)
                  .ok());
  EXPECT_TRUE(absl::IsDataLoss(writer_->Flush()));
  EXPECT_TRUE(writer_->Flush().ok());
}

TEST_F(SqliteWriterTest, WritesWhatIsDelayedBeforeItStops) {
  // While it is being destroyed, the writer is reached by this pointer only.
  SqliteWriter* writer = writer_.get();
  const auto insert = [writer] { return writer->database().Execute("INSERT INTO a VALUES (5)"); };
  ASSERT_TRUE(writer->WriteSoon("", insert, nullptr).ok());
  writer_.reset();
  auto database = Database::Open(directory_.path() + "/test.db", Durability::kFull);
  absl::StatusOr<Statement> statement = (*database)->Query("SELECT x FROM a");
  ASSERT_TRUE(statement.ok() && *statement->Step());
  EXPECT_EQ(statement->Integer(0), 5);
}

}  // namespace
}  // namespace plait
