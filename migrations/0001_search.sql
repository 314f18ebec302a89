CREATE VIRTUAL TABLE `search` USING fts5(
	`account`, `item`, `path` UNINDEXED, `name`, `description`, `body`,
	tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
