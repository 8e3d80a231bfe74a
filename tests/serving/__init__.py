"""The page, asked by real browsers and over real HTTP."""
