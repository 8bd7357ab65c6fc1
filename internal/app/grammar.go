package app

import (
	"github.com/alecthomas/kong"
)

// roleFlags are what every role takes.
type roleFlags struct {
	Version kong.VersionFlag `help:"Print the version and exit."`
	Health  healthCommand    `cmd:"" help:"Ask the process that runs with the same ALDS_ADMIN_ADDR whether it is ready, and exit."`
}

// apiCommands are what a role that serves the interface takes.
type apiCommands struct {
	roleFlags
	Migrate   migrateCommand  `cmd:"" help:"Bring the schema up to date, fill a new database, and exit."`
	Export    exportCommand   `cmd:"" help:"Write all data as JSON lines on standard output. The service may run meanwhile."`
	Restore   restoreCommand  `cmd:"" help:"Read an export from standard input into an empty database, of any kind."`
	Import    importCommand   `cmd:"" help:"Bring records into a running service, as a client of it."`
	Check     checkCommand    `cmd:"" help:"Read the whole database and list what disagrees with itself. It changes nothing."`
	Repair    repairCommand   `cmd:"" help:"List what check finds, with what would mend it. It changes nothing without --yes."`
	RotateKey rotateCommand   `cmd:"" help:"Seal all stored secrets with the first key of ALDS_SECRET_KEY."`
	Settings  settingsCommand `cmd:"" help:"Show what administrators set while the service runs, or set it: settings StoryTrackingLevel=Off."`
	Token     tokenCommands   `cmd:"" help:"Make, list and end access tokens."`
	Password  passwordCommand `cmd:"" help:"Set the password of a member. It is read from the terminal, or from standard input, which must be one line; its sessions end, and tokens made with --ends-with-password."`
}

// tokenCommands are those about access tokens.
type tokenCommands struct {
	Create createToken `cmd:"" help:"Make an access token for a member and print it, once."`
	List   listTokens  `cmd:"" help:"List access tokens, ended ones too, never the tokens themselves. Times are UTC."`
	Revoke revokeToken `cmd:"" help:"End an access token. It is refused within a second."`
}

// parse returns the command that the arguments name, ready to run; nil for those that
// ask for help or the version, which it prints.
// Errors: *kong.ParseError.
func parse(args []string, o outside, role Role) (*kong.Context, error) {
	var grammar any = &roleFlags{}
	if role.http {
		grammar = &apiCommands{}
	}
	answered := false
	parser, err := kong.New(grammar, kong.Name(role.name), kong.Description(role.about+" Settings come from the environment; the README lists them."),
		kong.Writers(o.stdout, o.stderr), kong.Vars{"version": role.name + " " + built().String()}, kong.Exit(func(int) { answered = true }))
	if err != nil {
		return nil, err
	}
	if args[0] == "help" {
		args = append(args[1:len(args):len(args)], "--help")
	}
	chosen, err := parser.Parse(args)
	if answered {
		return nil, nil
	}
	return chosen, err
}
