// RecodeTable, RecodeBlocks and FinishTable: any file. A sound table stays sound, with the same
// entries.

#include "fuzz/fuzz.h"
#include "fuzz/table_input.h"
#include "table/recode.h"
#include "table/table_reader.h"
#include "table/table_writer.h"
#include "table/testing.h"
#include "table/verify.h"

namespace sluice::fuzz {

namespace {

// `from` is the report of a sound table, or null.
void Finish(const RecodedTable& table, const TableReport* from) {
  for (const int bits : {0, 10}) {
    StringFile file;
    const Status finished =
        FinishTable(table.data(), table.index_block(), {.bloom_bits_per_key = bits}, &file);
    if (from == nullptr) {
      continue;
    }
    Check(finished.ok(), "a sound table is finished");
    TableReport report;
    Check(VerifyTableImage(file.contents(), "t", &report).ok(), "and is sound then");
    Check(report.entries == from->entries && report.tombstones == from->tombstones &&
              report.key_bytes == from->key_bytes && report.value_bytes == from->value_bytes &&
              report.smallest == from->smallest && report.largest == from->largest,
          "and the same");
  }
}

}  // namespace

void RunRecode(std::string_view input) {
  const ExactCopy image(TableOfInput(input));
  Footer footer;
  if (image.view().size() < kFooterBytes ||
      !Footer::Parse(image.view().substr(image.view().size() - kFooterBytes), image.view().size(),
                     &footer)
           .ok()) {
    return;
  }
  TableReport report;
  const bool sound = VerifyTableImage(image.view(), "t", &report).ok();
  std::unique_ptr<TableReader> opened;
  const ZstdDictionary* dictionary = nullptr;
  if (TableReader::OpenImage(image.view(), "t", &opened).ok()) {
    dictionary = opened->dictionary();
  }
  for (const Compression to :
       {Compression::kNone, Compression::kSnappy, Compression::kZstd, Compression::kLz4}) {
    RecodedTable table;
    const Status recoded = RecodeTable(image.view(), footer.index, to, &table, dictionary);
    Check(recoded.ok() || !sound, "a sound table is recoded");
    if (!recoded.ok()) {
      continue;
    }
    Check(table.index_block().size() >= kBlockTrailerBytes, "the index stands behind the data");
    const ExactCopy data(table.data());
    const ExactCopy index(table.index_block());
    RecodedTable again;
    Check(RecodeBlocks(data.view(), index.view(), Compression::kNone, &again).ok(),
          "what was recoded can be again");
    Finish(table, sound ? &report : nullptr);
    Finish(again, sound ? &report : nullptr);
  }
}

std::string MakeRecodeSeed(Random* random) { return MakeTableInput(random); }

}  // namespace sluice::fuzz
