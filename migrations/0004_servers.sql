CREATE TABLE `server_logins` (
	`hash` text PRIMARY KEY NOT NULL,
	`server_id` text NOT NULL,
	`account_id` text NOT NULL,
	`data` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`server_id`) REFERENCES `servers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `server_logins_by_expiry` ON `server_logins` (`expires_at`);--> statement-breakpoint
CREATE TABLE `server_skills` (
	`server_id` text NOT NULL,
	`file` text NOT NULL,
	`text` text NOT NULL,
	`digest` text NOT NULL,
	PRIMARY KEY(`server_id`, `file`),
	FOREIGN KEY (`server_id`) REFERENCES `servers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `servers` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`upstream` text NOT NULL,
	`manifest` text NOT NULL,
	`in_main` integer NOT NULL,
	`credential_type` text NOT NULL,
	`credential` text,
	`grant` text,
	`version` integer NOT NULL,
	`tools` text,
	`tools_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `servers_by_name` ON `servers` (`account_id`,`name`);