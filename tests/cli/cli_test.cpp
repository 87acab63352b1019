// The command line without a server: tables, arguments, help, usage errors.
#include "cli/flags/cli.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/flags/args.hpp"
#include "cli/flags/nearest.hpp"
#include "cli/tables/answer.hpp"
#include "cli/tables/output.hpp"
#include "cli/tables/table.hpp"
#include "tests/cli/cli_run.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::TempFolder;

const std::vector<Flag> kFlags = {{"--listen", "ADDR", "where", "-l"},
                                  {"--http", "", "with sockets"},
                                  {"--quiet", "", "without words", "-q"},
                                  {"--file", "FILE", "what", "-f", true}};

// No kubeconfig is to be found while it lives, or the one that is named.
struct OwnHome {
  explicit OwnHome(const std::string& home = "/nonexistent") {
    const char* before = ::getenv("HOME");
    if (before != nullptr) home_ = before;
    ::setenv("HOME", home.c_str(), 1);
    ::unsetenv("KUBECONFIG");
  }
  ~OwnHome() { ::setenv("HOME", home_.c_str(), 1); }
  OwnHome(const OwnHome&) = delete;
  OwnHome& operator=(const OwnHome&) = delete;
  std::string home_;
};

}  // namespace

TEST_CASE("a table aligns its columns by characters and ends lines without spaces", "[cli]") {
  Table table({{"NAME"}, {"GPUS", true}, {"WHY"}});
  table.Add({"a", "8", ""});
  table.Add({"größer", "128", "waits", "dropped"});
  table.Add({"x"});
  CHECK(table.ToString() ==
        "NAME    GPUS  WHY\n"
        "a          8\n"
        "größer   128  waits\n"
        "x\n");
}

TEST_CASE("a table cuts its last column to the terminal's width", "[cli]") {
  Table table({{"NAME"}, {"WHY"}});
  table.Add({"a", "the größte of all gangs waits for a rack"});
  table.Add({"b", "short"});
  CHECK(table.ToString(30) ==
        "NAME  WHY\n"
        "a     the größte of all gangs…\n"
        "b     short\n");
  CHECK_THAT(table.ToString(9), Catch::Contains("a     the größte of all g…\n"));
  CHECK_THAT(table.ToString(), Catch::Contains("waits for a rack\n"));
  CHECK(Cut("abc", 3) == "abc");
  CHECK(Cut("abcd", 3) == "ab…");
  CHECK(Cut("ab cd", 4) == "ab…");
}

TEST_CASE("a table's cells cannot steer the terminal", "[cli]") {
  CHECK(Printable("a\x1b[2Jb\r\n\tc") == "a?[2Jb???c");
  CHECK(Printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(Printable("\xc2\x9b"
                  "5m") == "?5m");
  CHECK(Printable("\xff\xc3") == "??");
  CHECK(Printable("a\u202Eb\u2066c\u200Fd\u061C") == "a?b?c?d?");
}

TEST_CASE("arguments are read against their flags", "[cli]") {
  const auto args =
      Args::Parse(kFlags, {"gang", "-f", "a.yaml", "--listen=:80", "--file=b", "--", "--http"});
  REQUIRE(args.ok());
  CHECK(args->positionals() == std::vector<std::string>{"gang", "--http"});
  CHECK(args->All("--file") == std::vector<std::string>{"a.yaml", "b"});
  CHECK(args->Text("--listen") == ":80");
  CHECK_FALSE(args->Has("--http"));
  CHECK(args->Text("--none", "other") == "other");
}

TEST_CASE("a short flag takes its value attached to it", "[cli]") {
  const auto args = Args::Parse(kFlags, {"-fa.yaml", "-l:80", "-f-", "-fb=c"});
  REQUIRE(args.ok());
  CHECK(args->positionals().empty());
  CHECK(args->All("--file") == std::vector<std::string>{"a.yaml", "-", "b=c"});
  CHECK(args->Text("--listen") == ":80");
}

TEST_CASE("wrong arguments are refused with the reason", "[cli]") {
  struct Case {
    std::vector<std::string> words;
    std::string want;
  };
  const auto [words, want] = GENERATE(values<Case>({
      {{"--lisen", "x"}, "unknown flag --lisen; did you mean \"--listen\"?"},
      {{"--listen"}, "--listen needs a value: --listen ADDR"},
      {{"--listen", "a", "-l", "b"}, "-l is given twice"},
      {{"--http=yes"}, "--http takes no value"},
      {{"-x"}, "unknown flag -x"},
      {{"-la", "-lb"}, "-l is given twice"},
      {{"-listen", "a"}, "unknown flag -listen; did you mean \"--listen\"?"},
      {{"-qall"}, "unknown flag -qall"},
  }));
  const auto args = Args::Parse(kFlags, words);
  REQUIRE_FALSE(args.ok());
  CHECK(args.error().message == want);
}

TEST_CASE("without a server the cluster of the kubeconfig counts", "[cli]") {
  const TempFolder folder;
  const OwnHome home(folder.File(""));
  std::filesystem::create_directory(folder.File(".kube"));
  std::ofstream(folder.File(".kube/config"))
      << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n"
         "contexts: [{name: c, context: {cluster: c}}]\n";
  CHECK_THAT(Run({"get", "gangs"}).err,
             Catch::Contains("no token of service account muster-system/muster-oncall: "));
  ::setenv("KUBECONFIG", (folder.File("none") + "::" + folder.File(".kube/config")).c_str(), 1);
  CHECK_THAT(Run({"get", "gangs", "--context", "other"}).err,
             Catch::Contains(".kube/config") && Catch::Contains("there is no context other"));
  std::ofstream(folder.File("other")) << "contexts: [{name: other, context: {cluster: c}}]\n";
  std::ofstream(folder.File("empty")).flush();
  ::setenv("KUBECONFIG",
           (folder.File("empty") + ":" + folder.File("other") + ":" + folder.File(".kube/config"))
               .c_str(),
           1);
  CHECK_THAT(Run({"get", "gangs", "--context", "other"}).err, Catch::Contains("no token of"));
  ::setenv("KUBECONFIG", (folder.File("empty") + ":" + folder.File("empty")).c_str(), 1);
  CHECK_THAT(Run({"get", "gangs"}).err,
             Catch::Contains("/empty: is empty, as are the other files of $KUBECONFIG"));
  ::unsetenv("KUBECONFIG");
  const OwnHome nowhere;
  CHECK_THAT(Run({"get", "gangs", "--service", "a/b"}).err, Catch::Contains("no cluster is known"));
}

TEST_CASE("the server is the one of --server, else of $MUSTER_SERVER", "[cli]") {
  const OwnHome home;
  ::setenv("MUSTER_SERVER", "nowhere", 1);
  const CliRun by_variable = Run({"get", "gangs"});
  const CliRun by_flag = Run({"get", "gangs", "--server", "127.0.0.1:1"});
  ::setenv("MUSTER_SERVER", "", 1);
  const CliRun by_default = Run({"get", "gangs"});
  ::unsetenv("MUSTER_SERVER");
  CHECK_THAT(by_variable.err, Catch::Contains("$MUSTER_SERVER: \"nowhere\" is no address"));
  CHECK_THAT(by_flag.err, Catch::Contains("no answer from http://127.0.0.1:1 "));
  CHECK_THAT(by_default.err, Catch::Contains("http://127.0.0.1:8889"));
}

TEST_CASE("for a mistyped word the most likely one is suggested", "[cli]") {
  const std::vector<std::string> choices = {"serve", "simulate", "submit", "get", "explain"};
  struct Case {
    std::string word;
    std::string nearest;
  };
  const auto [word, nearest] = GENERATE(values<Case>({
      {"gte", "get"},          // two neighbours swapped
      {"servee", "serve"},     // one too many
      {"sumit", "submit"},     // one too few
      {"explaim", "explain"},  // another one
      {"simualte", "simulate"},
      {"sub", "submit"},  // its beginning
      {"g", "get"},
      {"x", ""},
      {"delete", ""},
      {"", ""},
  }));
  CAPTURE(word);
  CHECK(Nearest(word, choices) == nearest);
}

TEST_CASE("every command shows an example that it can read", "[cli]") {
  for (const Command& command : Commands()) {
    CAPTURE(command.name);
    CHECK_FALSE(command.examples.empty());
    for (const std::string& example : command.examples) {
      CAPTURE(example);
      const std::size_t at = example.find("muster " + command.name);
      REQUIRE(at != std::string::npos);
      std::istringstream text(example.substr(at + std::string("muster ").size()));
      std::vector<std::string> words;
      for (std::string word; text >> word;) words.push_back(word);
      words.erase(words.begin());
      const auto args = Args::Parse(command.flags, words);
      CHECK(args.ok());
    }
  }
}

TEST_CASE("numbers have limits", "[cli]") {
  const std::vector<Flag> flags = {{"--seed", "N", ""}};
  const auto number = [&](const std::string& text) {
    return Args::Parse(flags, {"--seed", text})->Number("--seed", 7, 1, 100);
  };
  CHECK(number("100").value() == 100);
  CHECK_FALSE(number("101").ok());
  CHECK_FALSE(number("0").ok());
  CHECK_FALSE(number("5x").ok());
  CHECK_FALSE(number("99999999999999999999").ok());
  CHECK(Args::Parse(flags, {})->Number("--seed", 7, 1, 100).value() == 7);
}

TEST_CASE("usage errors exit with 2 and show the usage", "[cli]") {
  struct Case {
    std::vector<std::string> words;
    std::string want;
  };
  const auto [words, want] = GENERATE(values<Case>({
      {{}, "usage: muster COMMAND"},
      {{"frobnicate"}, "there is no command \"frobnicate\"\n\"muster help\" lists the commands"},
      {{"explian"}, "there is no command \"explian\"; did you mean \"explain\"?"},
      {{"sim"}, "there is no command \"sim\"; did you mean \"simulate\"?"},
      {{"serve", "--polcy", "x"}, "unknown flag --polcy; did you mean \"--policy\"?"},
      {{"serve", "extra"}, "unexpected \"extra\""},
      {{"serve", "--listen", "nowhere"}, "--listen: \"nowhere\" is no address"},
      {{"serve", "--tls-cert", "a"}, "--tls-cert and --tls-key go together"},
      {{"serve", "--scheduler-key", "a"}, "--scheduler-cert and --scheduler-key go together"},
      {{"serve", "--tls-client-ca", ""}, "--tls-client-ca: expected a value"},
      {{"serve", "--kubeconfig", "f", "--in-cluster"}, "exclude each other"},
      {{"serve", "--kubeconfig", ""}, "--kubeconfig: expected a file"},
      {{"serve", "--context", "c"}, "--context: needs --kubeconfig"},
      {{"serve", "--lease", "a/b"}, "--lease: needs --kubeconfig or --in-cluster"},
      {{"serve", "--in-cluster", "--lease", "b"}, "--lease: expected NAMESPACE/NAME"},
      {{"serve", "--in-cluster", "--cluster", "f"}, "--cluster: is for the embedded cluster only"},
      {{"serve", "--webhook", ":1"}, "--webhook: needs --kubeconfig or --in-cluster"},
      {{"serve", "--in-cluster", "--webhook", ":1"}, "--webhook: needs a Secret"},
      {{"serve", "--in-cluster", "--lease", "a/b", "--webhook", "x"}, "--webhook: \"x\" is no"},
      {{"serve", "--in-cluster", "--webhook-secret", "a/b"}, "--webhook-secret: needs --webhook"},
      {{"serve", "--in-cluster", "--webhook-secret", "b", "--webhook", ":1"},
       "--webhook-secret: expected NAMESPACE/NAME"},
      {{"serve", "--log-level", "2"}, "--log-level must be error, info or debug, not \"2\""},
      {{"check-policy"}, "give one policy FILE"},
      {{"check"}, "give one FILE or more, or -"},
      {{"check", "-", "a.yaml", "-"}, "- is given twice: standard input can be read once"},
      {{"submit"}, "give -f FILE"},
      {{"get"}, "one of gangs, nodes, queues, topology"},
      {{"get", "nodes", "--slots", "2"}, "--slots is for topology"},
      {{"get", "topology", "--slots", "0"}, "--slots"},
      {{"get", "pods"}, "\"pods\" is unknown: give one of gangs, nodes, queues, topology\n"},
      {{"get", "gnags"}, "\"gnags\" is unknown: give one of gangs, nodes, queues, topology; did"},
      {{"get", "node", "-n", "team"}, "--namespace is for gangs, not for \"nodes\""},
      {{"get", "queues", "-A"}, "--all-namespaces is for gangs"},
      {{"get", "gangs", "-n", "team", "-A"}, "--namespace and --all-namespaces do not go together"},
      {{"get", "gangs", "-n", "a b"}, "\"a b\" is no namespace"},
      {{"get", "gangs", "-o", "xml"}, "--output must be table, wide, json or yaml, not \"xml\""},
      {{"get", "gangs", "-oxml"}, "--output must be table, wide, json or yaml, not \"xml\""},
      {{"get", "gangs", "-nteam", "-A"}, "--namespace and --all-namespaces do not go together"},
      {{"get", "gangs", "-w", "-o", "json"}, "--watch is for tables, not for --output json"},
      {{"get", "nodes", "-w"}, "--watch is for gangs"},
      {{"explain", "gang"}, "gang NAMESPACE/NAME"},
      {{"explain", "gang", "a/b?c"}, "is no NAMESPACE/NAME"},
      {{"explain", "gang", "a/b", "-n", "c"}, "\"a/b\" is not in --namespace c"},
      {{"priority", "a/b/c", "1"}, "is no NAMESPACE/NAME"},
      {{"cancel"}, "give NAMESPACE/NAME"},
      {{"simulate", "--nodes", "2x8"}, "one of --pods and --jobs"},
      {{"simulate", "--pods", "x"}, "--nodes is needed"},
      {{"simulate", "--nodes", "2x8", "--pods", "x", "--plot", "y.svg"}, "--plot is for --jobs"},
      {{"simulate", "--nodes", "2x8", "--jobs", "x", "--durations", "half"},
       "--durations must be unknown, exact, rough or learnt"},
      {{"simulate", "--nodes", "2x8", "--jobs", "x", "--window", "9-5"},
       "--window must be two numbers of seconds"},
      {{"simulate", "--nodes", "2x8", "--jobs", "x", "--checkpoint", "often"},
       "--checkpoint must be a duration"},
      {{"simulate", "--nodes", "2x8", "--pods", "x", "--gpu-shares", "hami"},
       "--gpu-shares is for --without-muster"},
      {{"simulate", "--nodes", "2x8", "--pods", "x", "--without-muster", "--gpu-shares", "half"},
       "--gpu-shares must be stock or hami"},
      {{"simulate", "--nodes", "2x8", "--jobs", "x", "--compare", "a.yaml"},
       "--compare must be two policies or more"},
      {{"simulate", "--nodes", "2x8", "--jobs", "x", "--compare", "a,b", "--policy", "c"},
       "--compare and --policy exclude each other"},
      {{"--context", "prod", "get", "gangs"},
       "\"--context\" stands before the command: flags come behind it\n\"muster help\" lists the "
       "commands\n"},
      {{"help", "nothing"},
       "there is no command \"nothing\"\n\"muster help\" lists the commands\n"},
  }));
  const CliRun run = Run(words);
  INFO(run.err);
  CHECK(run.status == kExitUsage);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::Contains(want, Catch::CaseSensitive::No));
}

TEST_CASE("serve does not start when a TLS flag would do nothing", "[cli]") {
  for (const char* flag : {"--tls-client", "--tls-client-ca", "--scheduler-ca"}) {
    const CliRun run = Run({"serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                            "--log-level", "error", flag, "foo"});
    CHECK(run.status == kExitFailed);
    CHECK_THAT(run.err, Catch::StartsWith("muster: " + std::string(flag) + ": expected "));
  }
}

TEST_CASE("help names every command and every flag", "[cli]") {
  const CliRun overview = Run({"help"});
  CHECK(overview.status == kExitOk);
  for (const Command& command : Commands()) {
    CHECK_THAT(overview.out, Catch::Contains("  " + command.name));
    const CliRun one = Run({"help", command.name});
    CHECK(one.status == kExitOk);
    for (const Flag& flag : command.flags) CHECK_THAT(one.out, Catch::Contains(flag.name));
    CHECK(Run({command.name, "--help"}).out == one.out);
  }
  CHECK_THAT(Run({"version"}).out, Catch::StartsWith("muster 0."));
}

TEST_CASE("a command that cannot reach the server fails and says where it tried", "[cli]") {
  // Port 1 of loopback: nobody listens there.
  const CliRun run = Run({"get", "gangs", "--server", "http://127.0.0.1:1"});
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err, Catch::Contains("no answer from http://127.0.0.1:1"));
}

TEST_CASE("check-policy says that a file is fine or what is wrong where", "[cli]") {
  const TempFolder folder;
  const std::string file = folder.File("policy.yaml");
  const std::string head = "apiVersion: muster.dev/v1alpha1\nkind: Policy\n";
  std::ofstream(file) << head << "placement:\n  strategy: spread\n";
  const CliRun fine = Run({"check-policy", file});
  CHECK(fine.status == kExitOk);
  CHECK(fine.out == file + ": fine\n");
  CHECK_THAT(Run({"check-policy", "--show", file}).out, Catch::Contains("strategy: spread"));

  std::ofstream(file) << head << "extender: {limits: {threads: 100}}\n";
  const CliRun retired = Run({"check-policy", file});
  CHECK(retired.status == kExitOk);
  CHECK(retired.out == file + ": fine\n");
  CHECK_THAT(retired.err, Catch::Contains(":3:") && Catch::Contains("has no effect any more"));

  std::ofstream(file) << head << "grouping:\n- kind: Foo\n  group: example.com\n  resource: foos\n"
                      << "  attempt: pod.metadata.annotations[example.com/try]\n"
                      << "  cases: [{gang: whole, minimum: 2}]\n";
  const CliRun blind = Run({"check-policy", file});
  CHECK(blind.status == kExitOk);
  CHECK_THAT(blind.err, Catch::StartsWith(file + ": the grouping rule for Foo of example.com reads "
                                                 "pod.metadata.annotations[example.com/try], "));

  std::ofstream(file) << head << "placement:\n  strategy: sideways\n  colour: red\n";
  const CliRun wrong = Run({"check-policy", file});
  CHECK(wrong.status == kExitFailed);
  CHECK(wrong.err ==
        "muster: " + file +
            ":4:13: placement.strategy: expected binpack or spread, found "
            "\"sideways\"\nmuster: " +
            file + ":5:3: placement.colour: unknown field, expected strategy or machineProfiles\n" +
            "muster: note: what the fields say together is checked once these are fixed\n");
  std::ofstream(file) << head << "schedulerNames: [default-scheduler]\n";
  const CliRun together = Run({"check-policy", file});
  CHECK(together.status == kExitFailed);
  CHECK_THAT(together.err, Catch::Contains("default-scheduler") && !Catch::Contains("note"));
  CHECK(Run({"check-policy", folder.File("absent.yaml")}).status == kExitFailed);
}

TEST_CASE("check-policy says which amounts nodes cannot give", "[cli]") {
  const TempFolder folder;
  const std::string file = folder.File("policy.yaml");
  std::ofstream(file) << "apiVersion: muster.dev/v1alpha1\nkind: Policy\nqueues:\n"
                      << "- name: a\n  guarantee: {gpu: 16, shapes: [{wholeNodes: 3}]}\n"
                      << "- name: b\n  guarantee: {gpu: 17, gpu/b200: 8}\n"
                      << "  limit: {gpu/a10: 4, gpu: 100}\n";
  const CliRun run = Run({"check-policy", file, "--nodes", "2x8"});
  CHECK(run.status == kExitOk);
  CHECK(run.out == file + ": fine\n");
  CHECK(run.err ==
        file + ": queues[0].guarantee.shapes[0]: 3 whole nodes are more than there are, 2\n" +
            file + ": queues[1].guarantee.gpu: 17 is more than all nodes have, 16\n" + file +
            ": queues[1].guarantee.gpu/b200: no node has a GPU of that model\n" + file +
            ": queues[1].limit.gpu/a10: no node has a GPU of that model\n");
  CHECK(Run({"check-policy", file, "--nodes", folder.File("absent.yaml")}).status == kExitFailed);
}

TEST_CASE("check-policy reads standard input, and the policy in a ConfigMap", "[cli]") {
  std::istringstream text(
      "kind: ConfigMap\napiVersion: v1\ndata:\n  policy.yaml: |\n"
      "    apiVersion: muster.dev/v1alpha1\n    kind: Policy\n    gangs: {maxMembers: none}\n");
  std::streambuf* const before = std::cin.rdbuf(text.rdbuf());
  const CliRun run = Run({"check-policy", "-"});
  std::cin.rdbuf(before);
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err, Catch::StartsWith("muster: stdin:7:25: gangs.maxMembers: expected "));
}

TEST_CASE("pages of the server become tables", "[cli]") {
  CHECK_FALSE(NodesTable("{}").ok());
  const auto nodes = NodesTable(R"({"nodes": [
      {"name": "n0", "ready": true, "schedulable": false, "cordoned": false, "gpus": [],
       "leftOut": {"endsInSeconds": 250, "why": "the node: 3 pods failed", "gpus": []}},
      {"name": "n1", "ready": true, "schedulable": false, "cordoned": true, "gpus": []},
      {"name": "n2", "ready": true, "schedulable": true, "cordoned": false, "gpus": [
       {"index": 0, "healthy": true, "cordoned": true, "freeGpus": 0},
       {"index": 1, "healthy": false, "cordoned": false, "freeGpus": 0},
       {"index": 3, "healthy": true, "cordoned": true, "freeGpus": 0}]}]})");
  REQUIRE(nodes.ok());
  CHECK_THAT(*nodes, Catch::Contains("n0    Ready,LeftOut "));
  CHECK_THAT(*nodes, Catch::Contains("n1    Ready,Cordoned "));
  CHECK_THAT(*nodes, Catch::EndsWith("\nn0 is left out for 4m10s more; the node: 3 pods failed\n"
                                     "n2: unhealthy GPUs: 1\nn2: cordoned GPUs: 0,3\n"));
  CHECK(ServerMessage(R"({"error": "no such gang", "place": "a/b"})") == "a/b: no such gang");
  for (const char* other : {"", "plain", "<html></html>", "{}", R"({"error": 3})"})
    CHECK(ServerMessage(other).empty());
}

TEST_CASE("the domains of the fabric become a tree", "[cli]") {
  const auto tree = FabricTable(R"({"domains": [
      {"tree": "dc", "level": "block", "name": "a", "depth": 0, "nodes": 3, "freeNodes": 1,
       "keptNodes": 1, "gpus": 12, "freeGpus": 7, "slots": 2},
      {"tree": "dc", "level": "rack", "name": "a/a0", "depth": 1, "nodes": 2, "freeNodes": 1,
       "gpus": 8, "freeGpus": 7, "slots": 1},
      {"tree": "dc", "level": "rack", "name": "a/a1", "depth": 1, "nodes": 1, "freeNodes": 0,
       "gpus": 4, "freeGpus": 0, "slots": 0}], "findings": ["tree dc: node x has no rack"]})");
  REQUIRE(tree.ok());
  CHECK(*tree ==
        "DOMAIN  LEVEL     NODES  FREE  KEPT  GPUS  FREE  SLOTS\n"
        "a       dc/block      3     1     1    12     7      2\n"
        "  a0    dc/rack       2     1     0     8     7      1\n"
        "  a1    dc/rack       1     0     0     4     0      0\n"
        "\nSlots in all: dc/block 2 dc/rack 1\ntree dc: node x has no rack\n");
  CHECK_THAT(FabricTable(R"({"domains": [], "findings": []})").value(),
             Catch::StartsWith("the policy names no fabric"));
  CHECK_FALSE(FabricTable(R"({"domains": []})").ok());
  CHECK_FALSE(FabricTable("[]").ok());
}

TEST_CASE("elapsed times are short", "[cli]") {
  CHECK(Elapsed(0) == "0s");
  CHECK(Elapsed(0.0129) == "12ms");
  CHECK(Elapsed(59.99) == "59.9s");
  CHECK(Elapsed(60) == "1m00s");
  CHECK(Elapsed(3600 * 3 + 300) == "3h05m");
  CHECK(Elapsed(86400 * 2 + 3600 * 4) == "2d4h");
}

}  // namespace muster::cli::testing
