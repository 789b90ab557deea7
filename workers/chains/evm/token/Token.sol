// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A fungible token with a fixed supply, all of it given to the deployer. Nobody owns it: what is
/// minted here is all there will ever be.
contract Token is ERC20 {
    uint8 private immutable _places;

    constructor(string memory name_, string memory symbol_, uint8 places, uint256 supply)
        ERC20(name_, symbol_)
    {
        _places = places;
        _mint(msg.sender, supply);
    }

    function decimals() public view override returns (uint8) {
        return _places;
    }
}
